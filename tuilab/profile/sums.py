"""Divides the time of a call: assigns each moment to one phase, and to the ops that run at that moment. Pure
functions.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from tuilab.model.account import PY_FUNCTION, STALL
from tuilab.model.ops import PYTHON
from tuilab.profile.classify import CALL, NEXT, PROGRAM, Key, Meaning
from tuilab.profile.threads import NOWHERE, Activity, Seen, Segment
from tuilab.profile.xplane import HOST

T = TypeVar("T")
Window = tuple[int, int]
"""Start and end of a call, in picoseconds."""

PICO = 1e-12
_IDLE = Meaning("python")
_STALLED = Meaning(STALL)
_NEXT = Key("IteratorGetNext", "IteratorGetNext", HOST)
_TO_DEVICE = re.compile(r"(?i)h2d|htod|hosttodevice")
_TO_HOST = re.compile(r"(?i)d2h|dtoh|devicetohost")


@dataclass
class Sums:
    """Sums over all calls, in picoseconds.

    calls: for each call, its time by phase; the phases add up to the call's duration. events: number of
    events on the calling threads during the calls. each: for each call, each op's share of its time. busy:
    the total duration of each op, not shared with concurrent ops. devices: for each device, the time during
    which it ran a kernel. on_device: time by phase on devices other than the host, according to their own
    clocks. beside: the durations of the input pipeline's ops, which run concurrently with the calls.
    computed, copies: the ops that computed or copied at any time; all other ops only waited.
    """

    windows: list[Window]
    calls: list[dict[str, float]] = field(default_factory=list)
    events: int = 0
    each: list[dict[Key, float]] = field(default_factory=list)
    busy: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    devices: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    on_device: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    beside: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    counts: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    copies: set[Key] = field(default_factory=set)
    computed: set[Key] = field(default_factory=set)

    @property
    def phases(self) -> dict[str, float]:
        return _total(self.calls)

    @property
    def ops(self) -> dict[Key, float]:
        return _total(self.each)


def _total(calls: Iterable[Mapping[T, float]]) -> dict[T, float]:
    out: dict[T, float] = {}
    for call in calls:
        for key, spent in call.items():
            out[key] = out.get(key, 0.0) + spent
    return out


def windows(events: Iterable[Seen]) -> list[Window]:
    return sorted((seen.event.start, seen.event.end) for seen in events if seen.event.name == CALL)


def sums(found: Activity) -> Sums:
    """Divide the time of the calls among phases and ops.

    A moment counts as compute if any kernel of the call is running, on any thread or device; concurrent
    kernels share the moment equally. Otherwise it counts as a copy during a copy, and as input while a graph
    waits for an element. All other moments have the phase of the calling thread. A moment counts as a stall
    if the device waits, between two kernels, for an op on the host or for a copy.
    """
    calls = windows(found.events)
    out = Sums(calls)
    main = next((seen.lane for seen in found.events if seen.event.name == CALL), None)
    parts: list[list[Segment]] = [[] for _ in calls]
    for segment in found.segments:
        for index, clipped in _clip(_correct_segment(segment, found.launchers, main), calls):
            if not clipped.pipeline or clipped.lane == main:
                parts[index].append(clipped)
            elif clipped.meaning.key is not None:
                out.beside[clipped.meaning.key] += clipped.end - clipped.start
    for seen in found.events:
        if seen.event.name.startswith(NEXT) and seen.lane != main:
            waiting = Segment(NOWHERE, seen.event.start, seen.event.end, Meaning("input", _NEXT))
            for index, clipped in _clip(waiting, calls):
                parts[index].append(clipped)
    on_device = any(s.meaning.key is not None and s.meaning.key.device != HOST for s in found.segments)
    for window, segments in zip(calls, parts, strict=True):
        out.calls.append({})
        out.each.append(defaultdict(float))
        _share(out, window, segments, main, on_device)
    out.events = sum(
        seen.lane == main and bool(calls) and calls[0][0] < seen.event.start < calls[-1][1]
        for seen in found.events
    )
    _count(out, found)
    return out


def _correct_segment(segment: Segment, launchers: set[Key], main: int | None) -> Segment:
    """Correct a segment's meaning with facts about the whole profile: an op that only launched kernels did
    not compute, and work of the input pipeline on the calling thread was waiting.
    """
    told = segment.meaning
    if told.phase != "compute" or told.key is None:
        return segment
    if told.key.device == HOST and told.key in launchers:
        return replace(segment, meaning=Meaning("scheduling"))
    if segment.pipeline and segment.lane == main:
        return replace(segment, meaning=Meaning("input", told.key))
    return segment


def _clip(segment: Segment, calls: Sequence[Window]) -> Iterable[tuple[int, Segment]]:
    index = max(0, bisect_right(calls, (segment.start, float("inf"))) - 1)
    while index < len(calls) and calls[index][0] < segment.end:
        start, end = max(segment.start, calls[index][0]), min(segment.end, calls[index][1])
        if end > start:
            yield index, replace(segment, start=start, end=end)
        index += 1


def _share(out: Sums, window: Window, segments: Sequence[Segment], main: int | None, on_device: bool) -> None:
    marks: list[tuple[int, int, Segment]] = []
    for segment in segments:
        marks += [(segment.start, 1, segment), (segment.end, -1, segment)]
        key = segment.meaning.key
        if key is not None and segment.meaning.phase in ("compute", "copy", "input"):
            out.busy[key] += segment.end - segment.start
            if segment.meaning.phase == "copy":
                out.copies.add(key)
            elif segment.meaning.phase == "compute":
                out.computed.add(key)
    for begin, end in stalls(window, segments):
        stalled = Segment(NOWHERE, begin, end, _STALLED)
        marks += [(begin, 1, stalled), (end, -1, stalled)]
    marks.sort(key=lambda mark: (mark[0], mark[1]))
    running = _Running(out, main, on_device)
    now = window[0]
    for at, step, segment in marks:
        if at > now:
            running.pass_time(at - now)
            now = at
        running.change(segment, step)
    running.pass_time(window[1] - now)


def stalls(window: Window, segments: Sequence[Segment]) -> list[Window]:
    """Return the periods of a call in which its device waits for the host."""
    computing = [s for s in segments if s.meaning.phase == "compute" and s.meaning.key is not None]
    kernels = _join_periods(
        s for s in computing if s.meaning.key is not None and s.meaning.key.device != HOST
    )
    copies = [(s.start, s.end) for s in segments if s.meaning.phase == "copy" and _crosses(s.meaning.key)]
    host = _join_periods(s for s in computing if s.meaning.key is not None and s.meaning.key.device == HOST)
    if not kernels:
        return []
    middle = [(end, begin) for (_, end), (begin, _) in zip(kernels, kernels[1:], strict=False)]
    ends = [(window[0], kernels[0][0]), (kernels[-1][1], window[1])]
    waits = [gap for gap in middle if _within(gap, copies)]
    return waits + [g for g in (*middle, *ends) if g not in waits and 2 * _within(g, host) > g[1] - g[0]]


def _within(window: Window, others: Iterable[Window]) -> int:
    """Return how much of the window the given periods cover, in picoseconds."""
    return sum(max(0, min(end, window[1]) - max(begin, window[0])) for begin, end in others)


def _join_periods(segments: Iterable[Segment]) -> list[Window]:
    out: list[Window] = []
    for begin, end in sorted((s.start, s.end) for s in segments):
        if out and begin <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((begin, end))
    return out


def _crosses(key: Key | None) -> bool:
    return key is not None and (key.device == HOST or _direction(key.op) != "copy")


class _Running:
    """Tracks the running ops, and adds the elapsed time to their sums."""

    def __init__(self, out: Sums, main: int | None, on_device: bool) -> None:
        self._out, self._main, self._on_device = out, main, on_device
        self._active: dict[str, dict[Key, int]] = {"compute": {}, "copy": {}, "input": {}}
        self._calling = _IDLE
        self._stalls = 0

    def change(self, segment: Segment, step: int) -> None:
        phase, key = segment.meaning.phase, segment.meaning.key
        if phase == STALL:
            self._stalls += step
            return
        aside = phase in ("compute", "copy") or (phase == "input" and segment.lane == NOWHERE)
        if phase is not None and aside and key is not None:
            active = self._active[phase]
            active[key] = active.get(key, 0) + step
            if active[key] <= 0:
                del active[key]
        if segment.lane == self._main:
            self._calling = segment.meaning if step > 0 else _IDLE

    def pass_time(self, span: int) -> None:
        """Add `span` picoseconds to the current phase and to the running ops."""
        if span <= 0:
            return
        phase, active = self._now()
        call = self._out.calls[-1]
        call[phase] = call.get(phase, 0.0) + span
        if any(key.device != HOST for key in active):
            self._out.on_device[phase] += span
        together = sum(active.values())
        for key, number in active.items():
            self._out.each[-1][key] += span * number / together
        for device in {key.device for key in self._active["compute"]}:
            self._out.devices[device] += span

    def _now(self) -> tuple[str, dict[Key, int]]:
        if self._active["compute"]:
            called = all(key.op in PYTHON for key in self._active["compute"])
            return STALL if self._stalls else PY_FUNCTION if called else "compute", self._active["compute"]
        if self._active["copy"]:
            return self._way(), self._active["copy"]
        if self._active["input"]:
            return "input", self._active["input"]
        phase = self._calling.phase or "python"
        if self._stalls and phase in ("scheduling", "sync", PROGRAM):
            return STALL, {}
        if phase == PROGRAM:
            return ("sync" if self._on_device else "compute"), {}
        key = self._calling.key
        return phase, {key: 1} if phase == "input" and key is not None else {}

    def _way(self) -> str:
        """Return the direction of the current copy, from the calling thread's phase if it is a copy, else
        from the names of the running copies.
        """
        if self._calling.phase in ("copy_in", "copy_out"):
            return self._calling.phase
        ways = {_direction(key.op) for key in self._active["copy"]}
        return ways.pop() if len(ways) == 1 else "copy"


def _direction(name: str) -> str:
    if _TO_DEVICE.search(name):
        return "copy_in"
    return "copy_out" if _TO_HOST.search(name) else "copy"


def _count(out: Sums, found: Activity) -> None:
    """Count the ops from the start of the first call to the end of the last call. Kernels between two calls
    count too, because a GPU may still work on the earlier call.
    """
    if not out.windows:
        return
    begin, end = out.windows[0][0], out.windows[-1][1]
    for seen in found.events:
        key = seen.meaning.key
        if key is None or not seen.meaning.op or not begin <= seen.event.start < end:
            continue
        if key.device != HOST or key not in found.launchers:
            out.counts[key] += 1
