"""Rules for other libraries that are compared with TensorFlow."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import Region, TraceEvent
from tuilab.documents.interpreter.values import RESULT_OF
from tuilab.documents.rules.rule import Hit, rule


@dataclass(frozen=True)
class Library:
    """A library whose calls return before their work is done.

    calls: pattern for the recorded names of its calls. on: pattern for code that selects a device on which
    calls return early; None if they do so on every device. waits: pattern for code that waits for a result.
    how: the function that waits, for messages.
    """

    name: str
    calls: re.Pattern[str]
    on: re.Pattern[str] | None
    waits: re.Pattern[str]
    how: str


_READS = r"\.(?:item|cpu|numpy|tolist)\(|\b(?:print|float|int|bool|str|assert)\b\(?|\bif\b"
_LIBRARIES = (
    Library(
        "PyTorch",
        re.compile(rf"(?:{RESULT_OF})?torch(?:vision)?\."),
        re.compile(r"\.cuda\(|[\"']cuda\b"),
        re.compile(rf"synchronize\(|elapsed_time\(|\.backends\.mps|{_READS}"),
        "torch.cuda.synchronize()",
    ),
    Library(
        "CuPy",
        re.compile(rf"(?:{RESULT_OF})?cupy\."),
        None,
        re.compile(rf"synchronize\(|asnumpy\(|\.get\(|cupyx?\.profiler|{_READS}"),
        "cupy.cuda.Device().synchronize()",
    ),
    Library(
        "JAX",
        re.compile(rf"(?:{RESULT_OF})?jax\.(?!random\.(?:PRNG)?[kK]ey|devices|config)"),
        None,
        re.compile(rf"block_until_ready|device_get\(|np\.(?:as)?array\(|{_READS}"),
        "the result's block_until_ready()",
    ),
)


@rule("TL119", "No wait for another library's device", "warning")
def others_not_awaited(example: Example) -> Iterator[Hit]:
    """PyTorch on a GPU, CuPy or JAX is compared with TensorFlow, and nothing waits for its device.

    Why: Like TensorFlow's, their calls return before the work is done, so the comparison is between computing
    in one library and launching in the other.

    Instead: Wait for the device before each reading, with the library's own function.

    Wrong:
        import torch
        a = torch.randn(512, 512).to('cuda')
        t = time.perf_counter()
        b = torch.matmul(a, a)
        print('PyTorch', time.perf_counter() - t)

    Right:
        import torch
        a = torch.randn(512, 512).to('cuda')
        t = time.perf_counter()
        b = torch.matmul(a, a)
        torch.cuda.synchronize()
        print('PyTorch', time.perf_counter() - t)
    """
    for timing in example.timings:
        region, events = timing.region, timing.events
        calls = [e for e in events if e.kind in ("opaque", "host-op")]
        library = next((x for x in _LIBRARIES if any(x.calls.match(e.name) for e in calls)), None)
        if library is None or (library.on is not None and not library.on.search(example.facts.code)):
            continue
        if library.waits.search(_code(example, region, events)):
            continue
        yield Hit(
            region.last_line,
            f"the clock is read before {library.name}'s device has finished",
            f"Call {library.how} before each reading.",
            timing=timing,
        )


def _code(example: Example, region: Region, events: list[TraceEvent]) -> str:
    """Return the code between two clock readings without comments, as far as the document shows it."""
    lines = {event.line for event in events} | set(range(region.line, region.last_line))
    return "\n".join(example.uncommented(line) for line in sorted(lines))
