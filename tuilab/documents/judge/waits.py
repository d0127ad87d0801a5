"""Finds device work that is unfinished when the clock is read."""

from collections.abc import Iterable

from tuilab.documents.example import Example
from tuilab.documents.facts import ON_HOST
from tuilab.documents.interpreter.trace import ASYNCHRONOUS, TraceEvent
from tuilab.documents.interpreter.values import Known, Number, Tensor

MAY_WAIT = ("sync", "may-wait", "opaque", "train", "host-op")
_WHOLE_NUMBERS = ("int32", "int64", "int16", "int8", "uint8", "uint16")


def unfinished(example: Example, events: Iterable[TraceEvent]) -> tuple[TraceEvent, ...]:
    """Return the device work that the code does not wait for. Waits in other branches do not count."""
    waiting: list[TraceEvent] = []
    for event in events:
        if event.kind in ASYNCHRONOUS and event.place.traced is None and not runs_on_cpu(example, event):
            waiting = [e for e in waiting if e.place.branches != event.place.branches]
            waiting.append(event)
        elif event.kind in MAY_WAIT:
            waiting = [e for e in waiting if not event.place.may_follow(e.place)]
    return tuple(waiting)


def runs_on_cpu(example: Example, event: TraceEvent) -> bool:
    """Return True if the op can only run on the CPU, where eager ops finish before their call returns."""
    # There is no GPU kernel for an integer matrix product. Among other ops, only those on int32 run on the
    # host.
    of_whole = event.kind in ("graph", "create") or event.name == "tf.matmul"
    kinds = _WHOLE_NUMBERS if event.name == "tf.matmul" else _WHOLE_NUMBERS[:1]
    tensors = [v for v in (event.result, *event.arguments.values()) if isinstance(v, Tensor)]
    whole = of_whole and bool(tensors) and all(tensor.dtype in kinds for tensor in tensors)
    # A Python number returned unchanged by a graph runs on no device.
    given_back = isinstance(event.result, Known | Number) and any(
        v is event.result for v in event.arguments.values()
    )
    # An expression of Python numbers becomes a constant when the graph is traced.
    given_back = given_back or (
        isinstance(event.result, Known) and isinstance(event.result.value, int | float)
    )
    whole = whole or (event.kind == "graph" and given_back)
    return whole or event.name.startswith(ON_HOST) or event.place.families == ("CPU",) or example.hides_gpu
