"""A call's time, shared out: each moment belongs to one phase and to the ops that ran in it. Pure."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tuilab.model.profile import Phase
from tuilab.worker.profile.classify import CALL, Key, Meaning
from tuilab.worker.profile.threads import Activity, Seen, Segment
from tuilab.worker.profile.xplane import HOST

Window = tuple[int, int]
"""Begin and end of a call."""

_IDLE = Meaning("python")


@dataclass
class Account:
    """Sums over all calls, in picoseconds. phases: add up to the calls' length. ops: each op's share of it.

    busy: each op's own durations. devices: how long each device had a kernel running. beside: durations of
    the input pipeline's ops, which run beside the call. computed, copies: the ops that did so at any time;
    the others were waited for.
    """

    windows: list[Window]
    phases: dict[Phase, float] = field(default_factory=lambda: defaultdict(float))
    ops: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    busy: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    devices: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    beside: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    counts: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    copies: set[Key] = field(default_factory=set)
    computed: set[Key] = field(default_factory=set)


def windows(events: Iterable[Seen]) -> list[Window]:
    """The calls, in order."""
    return sorted((seen.event.start, seen.event.end) for seen in events if seen.event.name == CALL)


def account(found: Activity) -> Account:
    """Share the calls' time out.

    A moment is compute when any kernel of the call runs, on any thread or device, and is shared equally
    among those that do; else a copy; else whatever the calling thread was at.
    """
    calls = windows(found.events)
    out = Account(calls)
    main = next((seen.lane for seen in found.events if seen.event.name == CALL), None)
    parts: list[list[Segment]] = [[] for _ in calls]
    for segment in found.segments:
        for index, clipped in _clipped(_settled(segment, found.launchers, main), calls):
            if not clipped.pipeline or clipped.lane == main:
                parts[index].append(clipped)
            elif clipped.meaning.key is not None:
                out.beside[clipped.meaning.key] += clipped.end - clipped.start
    for window, segments in zip(calls, parts, strict=True):
        _share(out, window, segments, main)
    _count(out, found)
    return out


def _settled(segment: Segment, launchers: set[Key], main: int | None) -> Segment:
    """As only the whole profile shows: a launch is no computing, the pipeline's work is waiting."""
    told = segment.meaning
    if told.phase != "compute" or told.key is None:
        return segment
    if told.key.device == HOST and told.key in launchers:
        return replace(segment, meaning=Meaning("scheduling"))
    if segment.pipeline and segment.lane == main:
        return replace(segment, meaning=Meaning("input", told.key))
    return segment


def _clipped(segment: Segment, calls: Sequence[Window]) -> Iterable[tuple[int, Segment]]:
    index = max(0, bisect_right(calls, (segment.start, float("inf"))) - 1)
    while index < len(calls) and calls[index][0] < segment.end:
        start, end = max(segment.start, calls[index][0]), min(segment.end, calls[index][1])
        if end > start:
            yield index, replace(segment, start=start, end=end)
        index += 1


def _share(out: Account, window: Window, segments: Sequence[Segment], main: int | None) -> None:
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
    marks.sort(key=lambda mark: (mark[0], mark[1]))
    running = _Running(out, main)
    now = window[0]
    for at, step, segment in marks:
        if at > now:
            running.pass_time(at - now)
            now = at
        running.change(segment, step)
    running.pass_time(window[1] - now)


class _Running:
    """What runs now, and the account that the passing time is booked to."""

    def __init__(self, out: Account, main: int | None) -> None:
        self._out, self._main = out, main
        self._active: dict[Phase, dict[Key, int]] = {"compute": {}, "copy": {}}
        self._calling = _IDLE

    def change(self, segment: Segment, step: int) -> None:
        """A segment begins (1) or ends (-1)."""
        phase, key = segment.meaning.phase, segment.meaning.key
        if phase in ("compute", "copy") and key is not None:
            active = self._active[phase]
            active[key] = active.get(key, 0) + step
            if active[key] <= 0:
                del active[key]
        if segment.lane == self._main:
            self._calling = segment.meaning if step > 0 else _IDLE

    def pass_time(self, span: int) -> None:
        """Book `span` picoseconds."""
        if span <= 0:
            return
        phase, active = self._now()
        self._out.phases[phase] += span
        together = sum(active.values())
        for key, number in active.items():
            self._out.ops[key] += span * number / together
        for device in {key.device for key in self._active["compute"]}:
            self._out.devices[device] += span

    def _now(self) -> tuple[Phase, dict[Key, int]]:
        for phase, active in self._active.items():
            if active:
                return phase, active
        phase = self._calling.phase or "python"
        key = self._calling.key
        return phase, {key: 1} if phase == "input" and key is not None else {}


def _count(out: Account, found: Activity) -> None:
    for seen in found.events:
        key = seen.meaning.key
        index = bisect_right(out.windows, (seen.event.start, float("inf"))) - 1
        if key is None or not seen.meaning.op or index < 0 or seen.event.start >= out.windows[index][1]:
            continue
        if key.device != HOST or key not in found.launchers:
            out.counts[key] += 1
