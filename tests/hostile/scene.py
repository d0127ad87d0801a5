"""A lab with hostile text from all sources: presets, machine, events, answers, documents."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tests.hostile.payloads import Supply, toml
from tests.tui.scripted import CPU_MACHINE, FORECAST, PROFILE, Script
from tuilab.model.doctor import Cause, DoctorReport, Probe
from tuilab.model.events import ArmStatus, Caveat, Event, Fact, Finished, Log, Node, Placement, Progress
from tuilab.model.explain import ScenarioExplanation
from tuilab.model.machine import Device, Machine
from tuilab.model.parameters import Boolean as Switch
from tuilab.model.parameters import Choice, Integer
from tuilab.model.profile import Profile
from tuilab.model.requests import Measure
from tuilab.model.workload import Declaration, Variant

T = TypeVar("T", bound=msgspec.Struct)

FREE = {
    "text", "source", "message", "detail", "reason", "error", "stage", "unit", "host", "cpu", "os", "python",
    "tensorflow", "tuilab", "description", "no_gpu", "driver", "cuda_version", "compute_capability", "op", "dtype",
    "memory", "to", "requested", "note", "code", "sentence", "forced", "evidence", "cause", "mend", "title",
    "summary", "label", "help", "rest", "diagnosis", "notes", "fact",
}  # fmt: skip
"""Fields that may contain any text from a worker."""
NAMED = {"Node": {"name", "device"}, "Lane": {"name", "device"}, "Span": {"name"}, "OpTime": {"name", "device"},
         "DeviceTime": {"device"}, "Probe": {"name"}, "Part": {"phase"}}  # fmt: skip
KEPT = {"Arm": {"host", "dtype"}, "Declaration": {"dtype"}, "Log": {"run"}, "Part": {"source"}}
"""Fields whose values identify something and must not change."""


def spoilt(message: T, supply: Supply) -> T:
    kind = type(message).__name__
    free = (FREE | NAMED.get(kind, set())) - KEPT.get(kind, set())
    changed = {
        name: _spoilt(getattr(message, name), name in free, supply) for name in message.__struct_fields__
    }
    return msgspec.structs.replace(message, **changed)


def _spoilt(value: Any, free: bool, supply: Supply) -> Any:
    match value:
        case str() if free:
            return supply.text()
        case msgspec.Struct():
            return spoilt(value, supply)
        case tuple() | list():
            return type(value)(_spoilt(part, free, supply) for part in value)
        case _:
            return value


def machine(supply: Supply) -> Machine:
    """Return a machine with hostile names and a usable CPU."""
    more = tuple(Device(supply.text(), supply.text()) for _ in range(2))
    found = spoilt(CPU_MACHINE, supply)
    return msgspec.structs.replace(found, devices=(Device("CPU:0", supply.text()), *more))


def batches(
    request: Measure, here: Machine, supply: Supply, *, nodes: int = 60, logs: int = 60, rounds: int = 6
) -> Iterator[list[Event]]:
    run = request.id
    live = [arm for arm in request.arms if arm.device == "CPU:0"]
    for batch in Script(request, here, rounds).batches():
        if isinstance(batch[-1], Finished):
            yield list(_more(run, live[0].id if live else "", supply, nodes, logs))
            yield [Finished(run=run, status="ok", message=supply.text(), elapsed_s=1.0, reached=0.01)]
            return
        yield [_event(event, supply) for event in batch]


def _event(event: Event, supply: Supply) -> Event:
    # The start of a run repeats the request, and its machine is already hostile.
    return event if type(event).__name__ in ("RunStarted", "Round") else spoilt(event, supply)


def _more(run: str, arm: str, supply: Supply, nodes: int, logs: int) -> Iterator[Event]:
    for _ in range(logs):
        yield Log(text=supply.text(), source=supply.text(), level="warning", run=run)
    yield Progress(run=run, stage=supply.text(), done=1, total=2, unit=supply.text(), arm=arm)
    if not arm:
        return
    yield ArmStatus(run=run, arm=arm, status="ok", device=supply.text())
    yield Placement(run=run, arm=arm, nodes=tuple(node(supply) for _ in range(nodes)))
    yield Caveat(run=run, code=supply.text(), message=supply.text(), arm=arm)
    yield Caveat(run=run, code=supply.text(), message=supply.text())
    yield Fact(run=run, arm=arm, name=supply.text(), value=supply.text(), text=supply.text())


def node(supply: Supply) -> Node:
    kinds = ("op", "copy", "folded", "op")
    text = supply.text
    return Node(
        name=text(), op=text(), device=text(), kind=kinds[len(supply.made) % 4], to=text(), memory=text(),  # type: ignore[arg-type]
        dtype=text(), requested=text(), reason=text(), evidence=text(), bytes=5, count=2,
    )  # fmt: skip


def profile(supply: Supply) -> Profile:
    return spoilt(PROFILE, supply)


def forecast(supply: Supply) -> ScenarioExplanation:
    return spoilt(FORECAST, supply)


def declaration(supply: Supply, name: str = "own") -> Declaration:
    """Return a declaration of user code with hostile text but with names that are valid in Python."""
    text = supply.text
    return Declaration(
        name=name, title=text(), summary=text(), unit=text(),
        parameters=(
            Integer(name="größe", label=text(), help=text(), unit=text(), default=2, low=1, high=9),
            Integer(name="行数", label=text(), help=text(), unit=text(), default=2, low=1, high=9),
            Choice(name="wie", label=text(), help=text(), default="a", options=("a", "b")),
            Switch(name="é", label=text(), help=text(), default=True),
        ),
        variants=(Variant("plain", text()), Variant("other", text())), axis="größe",
    )  # fmt: skip


def diagnosis(supply: Supply) -> DoctorReport:
    text = supply.text
    return DoctorReport(
        gpu_visible=False, code="driver-missing", cause=text(), mend=text(),
        probes=tuple(Probe(text(), "failed", text()) for _ in range(12)),
        further=tuple(Cause(text(), text(), text()) for _ in range(4)),
    )  # fmt: skip


PRESET = """
title = {title}
workload = "stft"
summary = {summary}
wrong = {wrong}
advice = {advice}

[source]
document = {document}
example = {number}
title = {heading}

[parameters]
samples = 4096

[[claims]]
text = {claim}
quoted = {quoted}
advice = {then}

[claims.when]
kind = "placed-on"
op = {op}
device = "GPU"
"""


def presets(folder: Path, count: int, supply: Supply) -> None:
    """Write `count` valid preset files, and `count` files with various errors."""
    folder.mkdir(exist_ok=True)
    names = ("title", "summary", "wrong", "advice", "document", "heading", "claim", "quoted", "then", "op")
    for number in range(count):
        texts = {name: toml(supply.text()) for name in names}
        if number % 2:
            texts["document"] = '"000"'
        (folder / f"p{number:04d}.toml").write_text(PRESET.format(number=number % 90, **texts), "utf-8")
    for number, payload in zip(range(count), supply, strict=False):
        bad = toml(payload.text)
        key = toml(f"{payload.token}{payload.text[6:60]}")
        lines = (
            f'title = "x"\nworkload = {bad}\n',
            f'title = "x"\nworkload = "stft"\n[parameters]\n{key} = 1\n',
            f'title = "x"\nworkload = "stft"\n[parameters]\nsamples = {bad}\n',
            f'title = "x"\nworkload = "stft"\n[arms]\ndevices = [{bad}]\n',
            f'title = "x"\nworkload = "stft"\n{key} = 1\n',
            f'title = "x"\nworkload = "stft"\n[sweep]\naxes = [{{parameter = {bad}, values = [1, 2]}}]\n',
            f'title = "x"\nworkload = "stft"\n[marks]\n{key} = [1]\n',
        )
        (folder / f"q{number:04d}.toml").write_text(lines[number % len(lines)], "utf-8")
    more = {
        "r0000": b"title = '\x1b]0;x\x07'",
        "r0001": b"\xff\xfe\x00",
        "r0002": b'title = "\\ud800"',
        "r0003": b"",
    }
    for name, data in more.items():
        (folder / f"{name}.toml").write_bytes(data)


DOCUMENT = """---
title: {}
date: {}
---
# {}

{}

```python
import tensorflow as tf, time
# {}
x = tf.random.normal([64, 64], name={!r})
start = time.time()
with tf.device({!r}):
    y = tf.matmul(x, x)
print({!r}, time.time() - start)
```

{} This is 3× faster on a GPU.

"""


def document(file: Path, supply: Supply, pages: int = 12) -> Path:
    parts = []
    for _ in range(pages):
        parts.append(DOCUMENT.format(*(supply.text() for _ in range(9))))
    file.write_bytes("".join(parts).encode("utf-8", "surrogatepass"))
    return file
