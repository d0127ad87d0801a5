"""Formats a profile's timeline as Trace Event JSON, for Perfetto and chrome://tracing.

Google's document "Trace Event Format" specifies the format. Only complete events (`X`) and metadata (`M`)
are used. Times are in microseconds.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tuilab.model.profile import Lane, Profile, Span

NANOS_A_MICRO = 1_000


def trace(profile: Profile) -> dict[str, Any]:
    """Return the object to save as JSON, with a process for the host and for each GPU, and a thread for each
    lane.
    """
    return {
        "displayTimeUnit": "ms",
        "traceEvents": [*_metadata(profile.lanes), *_events(profile)],
        "otherData": {
            "tool": "tuilab",
            "workload": profile.workload,
            "arm": profile.arm,
            "calls": profile.calls,
            "spans_left_out": profile.spans_left,
            "notes": list(profile.notes),
        },
    }


def trace_json(profile: Profile) -> bytes:
    return json.dumps(trace(profile), ensure_ascii=True, separators=(",", ":")).encode()


def _processes(lanes: Sequence[Lane]) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(lane.device for lane in lanes), 1)}


def _metadata(lanes: Sequence[Lane]) -> Iterator[dict[str, Any]]:
    numbers = _processes(lanes)
    for device, pid in numbers.items():
        name = "host" if device == "CPU" else device
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
    for tid, lane in enumerate(lanes, 1):
        pid = numbers[lane.device]
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": lane.name}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def _events(profile: Profile) -> Iterator[dict[str, Any]]:
    numbers = _processes(profile.lanes)
    for span in nested(profile.spans):
        begin = _nanos(span.start_s)
        event: dict[str, Any] = {
            "ph": "X",
            "name": span.name,
            "pid": numbers[profile.lanes[span.lane].device],
            "tid": span.lane + 1,
            "ts": begin / NANOS_A_MICRO,
            "dur": (_nanos(span.start_s + span.duration_s) - begin) / NANOS_A_MICRO,
        }
        if span.phase:
            event["cat"] = span.phase
        yield event


def _nanos(seconds: float) -> int:
    """Return whole nanoseconds. Rounding fractions of a microsecond might make a span end after its
    parent.
    """
    return round(seconds * 1e9)


def nested(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans by start time, each cut at the end of its parent, because viewers require proper
    nesting.
    """
    open_ends: dict[int, list[float]] = {}
    for span in sorted(spans, key=lambda s: (s.start_s, -s.duration_s)):
        ends = open_ends.setdefault(span.lane, [])
        while ends and ends[-1] <= span.start_s:
            ends.pop()
        end = span.start_s + span.duration_s
        if ends and end > ends[-1]:
            end = ends[-1]
        ends.append(end)
        # A span that started before the first displayed call begins at zero.
        start = max(0.0, span.start_s)
        if end >= start:
            yield Span(span.lane, start, end - start, span.name, span.phase)
