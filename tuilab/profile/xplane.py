"""Reads the profiler's file into plain data. Times are integers, in picoseconds since the start of the
profile.
"""

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Union

import msgspec

HOST = "CPU"
EMULATED = "emulated_stream"
"""Prefix of the names of threads that act as GPU streams in tests."""
_PROTOCOL = Path("tsl", "profiler", "protobuf", "xplane_pb2.py")
_GPU = re.compile(r"^/device:(GPU:\d+)")
# Statistics to read; the others are ignored.
_STATS = frozenset(
    ("id", "_c", "_p", "eager_op", "is_func", "tf_function_call", "hlo_op", "tf_op", "correlation_id")
)

Stat = Union[int, str]


class XEvent(msgspec.Struct, frozen=True, gc=False):
    """An event that lasted from `start` to `end`. op: type of the op, if the event is a node of a graph."""

    name: str
    start: int
    end: int
    op: str = ""
    stats: Mapping[str, Stat] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class XLine:
    """A host thread or a GPU stream. Its events are sorted by start time; events with the same start are
    sorted by length, longest first.
    """

    name: str
    device: str
    events: tuple[XEvent, ...]


@dataclass(frozen=True)
class Recording:
    lines: tuple[XLine, ...]
    errors: tuple[str, ...] = ()


def read(data: bytes) -> Recording:
    """Parse a serialized XSpace. Raises google.protobuf's DecodeError for invalid data, and ImportError if
    TensorFlow is not installed.
    """
    space = _messages().XSpace()
    space.ParseFromString(data)
    lines = [line for plane in space.planes for line in _lines(plane)]
    return Recording(tuple(lines), (*space.errors, *space.warnings))


@cache
def _messages() -> ModuleType:
    """Return the protocol buffer classes of the profiler's file without importing TensorFlow. If TensorFlow
    is imported as well, it uses the same classes.

    Raises ImportError if TensorFlow is not installed.
    """
    found = importlib.util.find_spec("tensorflow")
    places = [
        Path(place) / _PROTOCOL for place in (found.submodule_search_locations if found else None) or ()
    ]
    file = next((place for place in places if place.is_file()), None)
    spec = importlib.util.spec_from_file_location("tuilab_xplane_pb2", file) if file is not None else None
    if spec is None or spec.loader is None:
        raise ImportError(f"TensorFlow is not installed or has no {_PROTOCOL}, needed to read a profile")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _lines(plane: Any) -> list[XLine]:
    gpu = _GPU.match(plane.name)
    if gpu is None and plane.name not in ("/host:CPU", "/host:CUPTI"):
        return []
    names = {key: value.name for key, value in plane.stat_metadata.items()}
    wanted = {key for key, name in names.items() if name in _STATS}
    kinds = {key: _kind(value, names, wanted) for key, value in plane.event_metadata.items()}
    out = []
    for line in plane.lines:
        if (line.display_name or line.name).startswith(EMULATED):
            continue  # an internal kernel of the tests' emulated GPU
        if gpu is not None and not line.name.startswith("Stream"):
            continue  # TensorBoard derives these rows from the streams
        origin = line.timestamp_ns * 1_000
        events = []
        for event in line.events:
            name, op, stats = kinds[event.metadata_id]
            start = origin + event.offset_ps
            found = {names[s.metadata_id]: _value(s, names) for s in event.stats if s.metadata_id in wanted}
            events.append(XEvent(name, start, start + event.duration_ps, op, {**found, **stats}))
        events.sort(key=lambda event: (event.start, -event.end))
        title = line.display_name or line.name or str(line.id)
        out.append(XLine(title, gpu[1] if gpu else HOST, tuple(events)))
    return out


def _kind(metadata: Any, names: Mapping[int, str], wanted: set[int]) -> tuple[str, str, dict[str, Stat]]:
    """Return the name, the op type and the wanted statistics that all events with this metadata share."""
    shown = metadata.display_name
    is_node = bool(shown) and metadata.name.endswith(":" + shown)
    stats = {names[s.metadata_id]: _value(s, names) for s in metadata.stats if s.metadata_id in wanted}
    return metadata.name, shown if is_node else "", stats


def _value(stat: Any, names: Mapping[int, str]) -> Stat:
    kind = stat.WhichOneof("value")
    value: Any = getattr(stat, kind) if kind else ""
    if kind == "ref_value":
        return names.get(value, "")
    return value if isinstance(value, (int, str)) else str(value)
