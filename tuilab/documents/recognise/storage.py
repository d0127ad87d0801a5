"""Recognizes copies between host and device, allocations, compression, and memory queries."""

from collections.abc import Iterator

from tuilab.documents.example import Example, tensors_in
from tuilab.documents.interpreter.names import item_bytes
from tuilab.documents.interpreter.trace import WORK, TraceEvent
from tuilab.documents.interpreter.values import NONE, OpaqueObject, Tensor, elements, integer
from tuilab.documents.recognise.found import (
    Found,
    Gap,
    Result,
    loops_outside,
    placed,
    reason,
    repeats_in_unit,
)
from tuilab.model.parameters import Value as Setting

# Minimum size in bytes of a tensor that is meant to fill memory: normally, and in a `try` that catches memory
# errors.
LARGE, SMALLEST = 1 << 30, 1 << 28
_MEMORY_ERRORS = ("RuntimeError", "MemoryError", "tf.errors.ResourceExhaustedError", "tf.errors.OpError")
_DECODES = ("tf.io.decode_compressed", "tf.io.decompress", "zlib.decompress", "gzip.decompress")


def size_of(tensor: Tensor) -> int | None:
    count, item = elements(tensor.shape), item_bytes(tensor.dtype)
    return None if count is None or item is None else count * item


def allocations(example: Example) -> Iterator[Result]:
    """Yield a `memory` workload for each tensor that tests the memory limit: a tensor of at least 1 GiB, or a
    smaller tensor in a `try` that catches memory errors.
    """
    for event in example.own("create"):
        made = event.result
        if not isinstance(made, Tensor):
            continue
        size = size_of(made)
        expected = any(
            name in _MEMORY_ERRORS for t in event.place.tries for h in t.handlers for name in h.names
        )
        if size is None:
            if expected and not example.timed(event):
                yield Gap(event.line, f"the size of {event.name}: {reason(made)}")
        elif size >= LARGE or (expected and size >= SMALLEST and not example.timed(event)):
            repeats = repeats_in_unit(example.trace, event)
            if repeats is None:
                yield Gap(event.line, f"the number of allocations by {event.name} is unknown")
                continue
            # Set only the total size; the size of each step keeps the workload's default.
            parameters: dict[str, Setting] = {"bytes": size * repeats}
            yield placed(Found("memory", parameters, event.line), event)


def copies(example: Example) -> Iterator[Result]:
    for region in example.regions:
        events = [e for e in example.trace.inside(region) if e.kind in WORK]
        copied = [e for e in events if e.kind == "copy"]
        if not copied or len(copied) < len(events):
            continue
        event = copied[0]
        size = size_of(event.result) if isinstance(event.result, Tensor) else None
        count = event.place.repeats_inside(loops_outside(example.trace, region))
        if size is None or count is None:
            yield Gap(event.line, "the size or number of the copies is unknown")
            continue
        pieces = 1 if region.divided else count
        parameters: dict[str, Setting] = {
            "bytes": size * pieces,
            "pieces": pieces,
            "direction": _direction(event),
        }
        yield placed(Found("copies", parameters, event.line), event)


def _direction(event: TraceEvent) -> str:
    return "to host" if event.place.families == ("CPU",) or event.name == ".cpu()" else "to device"


def compressions(example: Example) -> Iterator[Result]:
    for event in example.events:
        word = event.name.rpartition(".")[2].lower()
        if event.kind not in ("op", "codec", "opaque") or not ("compress" in word or event.name in _DECODES):
            continue
        decodes = event.name in _DECODES or "decompress" in word or word.startswith("decode")
        tensor = next((t for v in event.arguments.values() for t in tensors_in(v)), None)
        count = elements(tensor.shape) if tensor is not None else None
        if count is None:
            if not decodes:
                yield Gap(event.line, f"input of {event.name}: {_why(event, tensor)}")
            continue
        parameters: dict[str, Setting] = {"elements": count}
        level = integer(event.arguments.get("level", event.arguments.get("compression_level", NONE)))
        if level is not None:
            parameters["level"] = level
        found = placed(Found("compression", parameters, event.line), event)
        host = event.kind == "codec" or event.name.startswith("tf.io.")
        found.variants = (
            ["decode"] if decodes else ["zlib", "decode", "quantise"] if host else ["zlib", "quantise"]
        )
        found.modes.clear()
        yield found


def _why(event: TraceEvent, tensor: Tensor | None) -> str:
    if tensor is not None:
        return reason(tensor)
    return next(
        (reason(v) for v in event.arguments.values() if not isinstance(v, OpaqueObject)), "it is unknown"
    )


def readouts(example: Example) -> Iterator[Result]:
    """Yield a gap for the first query of a device's memory, which no preset covers, because other views of
    the lab show the memory.
    """
    for event in example.own("config"):
        if event.name.endswith(("get_memory_info", "get_memory_usage")):
            yield Gap(
                event.line,
                "this reads a counter and is not a benchmark: the device view shows memory in use, and "
                "tuilab doctor lists the devices",
            )
            return
