"""Builds profiles with the event names of TensorFlow's profiler and times in microseconds."""

from tuilab.profile.classify import CALL, SYNC
from tuilab.profile.xplane import Stat, XEvent, XLine

MICRO = 1_000_000


def event(name: str, start: float, end: float, op: str = "", **stats: Stat) -> XEvent:
    return XEvent(name, round(start * MICRO), round(end * MICRO), op, stats)


def thread(name: str, *events: XEvent) -> XLine:
    return XLine(name, "CPU", tuple(sorted(events, key=lambda e: (e.start, -e.end))))


def stream(*events: XEvent, device: str = "GPU:0") -> XLine:
    return XLine("Stream #7", device, events)


def node(name: str, op: str, start: float, end: float) -> XEvent:
    return event(f"{name}:{op}", start, end, op)


def call(start: float, end: float) -> XEvent:
    return event(CALL, start, end)


def sync(start: float, end: float) -> XEvent:
    return event(SYNC, start, end)


def eager(op: str, start: float, end: float) -> tuple[XEvent, ...]:
    """Return the events of an eager op: its dispatch, and a kernel in the middle half of the dispatch."""
    quarter = (end - start) / 4
    return (
        event("TFE_Py_FastPathExecute_C", start, end),
        event(f"EagerLocalExecute: {op}", start, end),
        event("KernelAndDeviceFunc::Run", start + quarter, end - quarter),
    )
