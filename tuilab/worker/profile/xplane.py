"""The profiler's file as plain data. Times are integers, picoseconds from the profile's start."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HOST = "CPU"
_GPU = re.compile(r"^/device:(GPU:\d+)")
# Statistics that somebody reads; the rest stays in the file.
_STATS = frozenset(
    ("id", "_c", "_p", "eager_op", "is_func", "tf_function_call", "hlo_op", "tf_op", "correlation_id")
)

Stat = int | str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that lasted from `start` to `end`. op: the op's type where the event is a node of a graph."""

    name: str
    start: int
    end: int
    op: str = ""
    stats: Mapping[str, Stat] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """A thread of the host, or a stream of a GPU: its events by start, longer ones first."""

    name: str
    device: str
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Recording:
    """What one profile holds. errors: what the profiler itself says went wrong."""

    lines: tuple[Line, ...]
    errors: tuple[str, ...] = ()


def read(data: bytes) -> Recording:
    """Parse a serialised XSpace. Raises google.protobuf's DecodeError."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    space.ParseFromString(data)
    lines = [line for plane in space.planes for line in _lines(plane)]
    return Recording(tuple(lines), (*space.errors, *space.warnings))


def _lines(plane: Any) -> list[Line]:
    gpu = _GPU.match(plane.name)
    if gpu is None and plane.name not in ("/host:CPU", "/host:CUPTI"):
        return []
    names = {key: value.name for key, value in plane.stat_metadata.items()}
    out = []
    for line in plane.lines:
        if gpu is not None and not line.name.startswith("Stream"):
            continue  # rows that TensorBoard derives from the streams
        events = [_event(plane, names, line.timestamp_ns * 1_000, event) for event in line.events]
        events.sort(key=lambda event: (event.start, -event.end))
        title = line.display_name or line.name or str(line.id)
        out.append(Line(title, gpu[1] if gpu else HOST, tuple(events)))
    return out


def _event(plane: Any, names: Mapping[int, str], origin: int, event: Any) -> Event:
    metadata = plane.event_metadata[event.metadata_id]
    stats = {}
    for stat in (*event.stats, *metadata.stats):
        name = names.get(stat.metadata_id, "")
        if name in _STATS:
            stats[name] = _value(stat, names)
    start = origin + event.offset_ps
    shown = metadata.display_name
    is_node = bool(shown) and metadata.name.endswith(":" + shown)
    return Event(metadata.name, start, start + event.duration_ps, shown if is_node else "", stats)


def _value(stat: Any, names: Mapping[int, str]) -> Stat:
    kind = stat.WhichOneof("value")
    value: Any = getattr(stat, kind) if kind else ""
    if kind == "ref_value":
        return names.get(value, "")
    return value if isinstance(value, int | str) else str(value)
