"""Reads one profiler window and splits each step's time into parts. Pure functions."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tuilab.model.account import PY_FUNCTION
from tuilab.model.ops import ITERATORS, PYTHON
from tuilab.profile.classify import CALL, Key
from tuilab.profile.threads import Activity, activity
from tuilab.profile.threads import Seen as Started
from tuilab.profile.xplane import HOST, XLine, read

PICO = 1e-12
WAIT = "IteratorGetNextOp::DoCompute"
"""The runtime's event for waiting for a batch, on any thread."""
LOOP_INPUT = re.compile(r"^ReduceIterator::.*::Scan::[^:]+$")
"""The runtime's event for waiting for a batch in a graph's loop over a dataset. TensorFlow executes such a
loop as an iterator.
"""
ITERATOR = "Iterator::"
FEW = 3
MOST_EVENTS = 15_000
"""Maximum number of events to examine in a window. Examining this many takes 0.15 s. A single step may have
thousands.
"""
LONG = 5.0
"""A step that takes at least this many times the median is assumed to contain other work, such as a
validation.
"""
SINGLE = "EagerExecute"
"""The runtime's event for an op or function that Python launches."""
ALIKE = 0.6
"""The intervals between ops of one type count as loop iterations if at least this share of them contain the
same ops.
"""
NEXT_OP = 200_000_000
"""Maximum picoseconds between consecutive ops of a loop that does little more than launch ops."""

Interval = tuple[int, int]


@dataclass
class Seen:
    """The results of one window.

    steps: seconds of each step by part. ops: seconds of each step by op. loop: start and end times of the
    steps in seconds, if the steps are iterations of a loop of ops instead of calls. singles: number of ops
    per step that Python launches individually, outside any tf.function. one_by_one: seconds per step that
    launching these ops takes. starting: the part of `one_by_one` in which no op computes. counts: number of
    runs per step of each op. stages: seconds per step in which each iterator of the pipeline worked, by its
    path (`Root::Prefetch::Map`), without its inputs. on_main: iterators that ran on the stepping thread.
    preparing: seconds per batch in which at least one other thread worked for the input pipeline, also during
    steps that contain other work.
    devices: share of the steps' time in which a device computed.
    """

    steps: list[dict[str, float]] = field(default_factory=list)
    ops: dict[Key, float] = field(default_factory=dict)
    counts: dict[Key, float] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    on_main: set[str] = field(default_factory=set)
    preparing: float = 0.0
    devices: dict[str, float] = field(default_factory=dict)
    loop: tuple[tuple[float, float], ...] = ()
    singles: float = 0.0
    one_by_one: float = 0.0
    starting: float = 0.0
    errors: tuple[str, ...] = ()


def look(data: bytes, usual_s: float = 0.0) -> Seen:
    """Read a profiler window. Raises google.protobuf's DecodeError if the data is not a profile.

    usual_s: typical duration of a step in seconds, if known. Much longer steps are assumed to contain other
    work.
    """
    recording = read(data)
    found = activity(_first_steps(recording.lines))
    calls = sorted((s.event.start, s.event.end, s.lane) for s in found.events if s.event.name == CALL)
    main, spans, loop = -1, list[Interval](), False
    if calls:
        main = calls[0][2]
        spans = [(start, end) for start, end, lane in calls if lane == main]
    else:
        main, spans = _of_functions(found)
    if not spans:
        main, spans = _of_loop(found)
        loop = True
    if not spans:
        return Seen(errors=recording.errors)
    usual = usual_s / PICO or sorted(end - start for start, end in spans)[len(spans) // 2]
    every, spans = spans, [(start, end) for start, end in spans if end - start <= LONG * usual]
    if not spans:
        return Seen(errors=recording.errors)
    out = _shared(found, spans, main, recording.errors)
    out.preparing = _overlap(_preparing(found, main), _union(every)) * PICO / len(every)
    if loop:
        begun = spans[0][0]
        out.loop = tuple(((start - begun) * PICO, (end - begun) * PICO) for start, end in spans)
    return out


def _first_steps(lines: Sequence[XLine]) -> Sequence[XLine]:
    """Return all events, or those of the first steps if the window has too many.

    Keeps all GPU events, because they lag behind the steps that launched them.
    """
    starts = sorted(event.start for line in lines for event in line.events)
    if len(starts) <= MOST_EVENTS or any(line.device != HOST for line in lines):
        return lines
    marks = sorted(event.start for line in lines for event in line.events if event.name == CALL)
    following = marks[max(FEW + 1, bisect_right(marks, starts[MOST_EVENTS]) - 1) :]
    if not following:
        return lines
    return [
        replace(line, events=tuple(event for event in line.events if event.start < following[0]))
        for line in lines
    ]


def _of_functions(found: Activity) -> tuple[int, list[Interval]]:
    """Return the steps of a profile without step markers. A step lasts from one call of the most
    time-consuming tf.function to the next.
    """
    calls: dict[tuple[int, str], list[Interval]] = defaultdict(list)
    for seen in found.events:
        if "tf_function_call" in seen.event.stats:
            calls[seen.lane, seen.event.name].append((seen.event.start, seen.event.end))
    rows = {key: sorted(at) for key, at in calls.items() if len(at) >= FEW}
    if not rows:
        return -1, []
    # Of nested functions, the outermost takes the most time.
    key = max(rows, key=lambda key: sum(end - start for start, end in rows[key]))
    starts = [start for start, _ in rows[key]]
    return key[0], list(pairwise(starts))


def _singles(found: Activity) -> Iterable[Started]:
    """Return the ops and functions that Python launches outside an input pipeline.

    Excludes the op that waits for the pipeline's next element.
    """
    return (
        seen
        for seen in found.events
        if seen.event.name == SINGLE
        and not seen.pipeline
        and seen.meaning.phase != "input"
        and str(seen.event.stats.get("eager_op", "")) not in ITERATORS
    )


def _of_loop(found: Activity) -> tuple[int, list[Interval]]:
    """Return the steps of a loop of ops.

    A step lasts from one op to the next of its type, if most of these intervals contain the same ops. Of
    nested loops, uses the outermost that repeats often enough.
    """
    lanes: dict[int, list[Started]] = defaultdict(list)
    for seen in _singles(found):
        lanes[seen.lane].append(seen)
    if not lanes:
        return -1, []
    lane = max(lanes, key=lambda lane: len(lanes[lane]))
    started = sorted(lanes[lane], key=lambda seen: seen.event.start)
    names = [str(seen.event.stats.get("eager_op", "")) for seen in started]
    at: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        at[name].append(index)
    for places in sorted(at.values(), key=len):
        rounds = Counter(tuple(names[a:b]) for a, b in pairwise(places))
        if len(places) > FEW and max(rounds.values()) >= ALIKE * rounds.total():
            return lane, list(pairwise(started[index].event.start for index in places))
    return -1, []


def _shared(found: Activity, spans: Sequence[Interval], main: int, errors: tuple[str, ...]) -> Seen:
    """Split the steps' time by part, op, iterator and device. main: the stepping thread."""
    spent: dict[Key, list[Interval]] = defaultdict(list)
    own: dict[str, list[Interval]] = defaultdict(list)
    copying: list[Interval] = []
    for segment in found.segments:
        key, phase = segment.meaning.key, segment.meaning.phase or ""
        if segment.pipeline and segment.lane != main:
            continue
        at = (segment.start, segment.end)
        if phase == "compute" and key is not None:
            if key.device == HOST and key in found.launchers:
                own["dispatch"].append(at)
            elif segment.pipeline:
                own["waiting for input"].append(at)
            else:
                spent[key].append(at)
        elif phase.startswith("copy"):
            copying.append(at)
        elif segment.lane == main:
            own[_NAMES.get(phase, "python")].append(at)
    own["waiting for input"] += [
        (s.event.start, s.event.end)
        for s in found.events
        if s.event.name == WAIT or LOOP_INPUT.match(s.event.name)
    ]
    own[TRACING] = [
        (seen.event.start, seen.event.end)
        for seen in found.events
        if seen.lane == main and str(seen.event.stats.get("tf_function_call", "")).startswith("traced")
    ]
    computing = _by_device(spent)
    # Assign each moment to the first part that applies: computing, by device; Python that an op calls, which
    # no device could take over; copies; waiting; the thread's other activity.
    called = {key: spent[key] for key in spent if key.op in PYTHON}
    ran = _by_device({key: at for key, at in spent.items() if key not in called})
    order = [(f"compute on {device}", ran[device]) for device in sorted(ran, reverse=True)]
    order += [(PY_FUNCTION, _union(at for each in called.values() for at in each))]
    order += [("copies", _union(copying))]
    order += [(name, _union(own[name])) for name in _OWN]
    steps, total, within = len(spans), sum(end - begin for begin, end in spans), _union(spans)
    lengths = {device: _overlap(ran, within) for device, ran in computing.items()}
    out = Seen(errors=errors, steps=[_parts(span, order) for span in spans])
    out.devices = {device: length / total for device, length in lengths.items()}
    beside = {device: length for device, length in lengths.items() if device != HOST}
    _share_ops(out, spent, within, steps, beside)
    _one_by_one(out, found, main, computing.get(HOST, []), within, steps)
    out.counts = {key: number / steps for key, number in _runs(found, within).items()}
    _pipeline(out, found, main, within, steps)
    return out


def _preparing(found: Activity, main: int) -> list[Interval]:
    """Return when a thread other than the stepping thread works for the input pipeline."""
    return _union(
        (segment.start, segment.end)
        for segment in found.segments
        if segment.pipeline and segment.lane != main and segment.meaning.phase != "input_wait"
    )


def _one_by_one(
    out: Seen, found: Activity, main: int, computing: list[Interval], within: list[Interval], steps: int
) -> None:
    """Count the individual ops, and measure the time that the stepping thread spends on launching them."""
    functions = _union(
        (seen.event.start, seen.event.end)
        for seen in found.events
        if seen.lane == main and "tf_function_call" in seen.event.stats
    )
    started = sorted(
        (seen.event.start, seen.event.end)
        for seen in _singles(found)
        if seen.lane == main
        and str(seen.event.stats.get("is_func")) == "0"
        and _inside(seen.event.start, within)
        and not _inside(seen.event.start, functions)
    )
    out.singles = len(started) / steps
    busy = started[-1:] + [
        (start, following if end <= following <= end + NEXT_OP else end)
        for (start, end), (following, _) in pairwise(started)
    ]
    _, left = _take(_union(busy), functions)
    out.one_by_one = _overlap(left, within) * PICO / steps
    _, left = _take(left, computing)
    out.starting = _overlap(left, within) * PICO / steps


def _by_device(spent: dict[Key, list[Interval]]) -> dict[str, list[Interval]]:
    computing: dict[str, list[Interval]] = defaultdict(list)
    for key, intervals in spent.items():
        computing[key.device] += intervals
    return {device: _union(intervals) for device, intervals in computing.items()}


def _parts(span: Interval, order: Sequence[tuple[str, list[Interval]]]) -> dict[str, float]:
    """Return a step's seconds by part.

    Each part in `order` gets the time that no earlier part covers. Python gets the rest.
    """
    free, parts = [span], dict[str, float]()
    for name, intervals in order:
        length, free = _take(free, intervals)
        if length:
            parts[name] = length * PICO
    if left := sum(end - begin for begin, end in free):
        parts["python"] = left * PICO
    return parts


def _runs(found: Activity, within: list[Interval]) -> Counter[Key]:
    return Counter(
        seen.meaning.key
        for seen in found.events
        if seen.meaning.op
        and seen.meaning.key is not None
        and not seen.pipeline
        and _inside(seen.event.start, within)
    )


_NAMES = {
    "input": "waiting for input",
    "input_wait": "waiting for input",
    "scheduling": "scheduling",
    "dispatch": "dispatch",
    "sync": "waiting for the device",
}
TRACING = "tracing and compiling"
_OWN = ("waiting for input", "waiting for the device", TRACING, "dispatch", "scheduling")
"""Activities of the stepping thread, highest priority first. If several overlap, the first one counts."""


def _share_ops(
    out: Seen,
    spent: dict[Key, list[Interval]],
    within: list[Interval],
    steps: int,
    lengths: dict[str, int],
) -> None:
    """Set each op's computing seconds per step. Simultaneous ops share the time equally.

    lengths: the time that each device other than the CPU computed within the steps, in picoseconds. Such a
    device lags behind the steps, so its ops are counted over the whole window and scaled to this time.
    """
    marks: list[tuple[int, int, Key]] = []
    for key, intervals in spent.items():
        for start, end in intervals:
            if key.device in lengths or _inside(start, within):
                marks += [(start, 1, key), (end, -1, key)]
    marks.sort(key=lambda mark: mark[:2])
    active: dict[Key, int] = {}
    totals: dict[Key, float] = defaultdict(float)
    now = 0
    for at, step, key in marks:
        together = sum(active.values())
        for each, number in active.items():
            totals[each] += (at - now) * number / together
        now = at
        active[key] = active.get(key, 0) + step
        if active[key] <= 0:
            del active[key]
    sums: dict[str, float] = defaultdict(float)
    for key, value in totals.items():
        sums[key.device] += value
    factor = {device: length / sums[device] for device, length in lengths.items() if sums[device]}
    out.ops = {key: value * factor.get(key.device, 1.0) * PICO / steps for key, value in totals.items()}


def _pipeline(out: Seen, found: Activity, main: int, within: list[Interval], steps: int) -> None:
    """Measure how long each iterator worked. An iterator's event includes the time of its inputs, which is
    subtracted.
    """
    lanes: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for seen in found.events:
        if seen.event.name.startswith(ITERATOR):
            path = seen.event.name.removeprefix(ITERATOR).partition("#")[0]
            lanes[seen.lane].append((seen.event.start, -seen.event.end, path))
    total: dict[str, float] = defaultdict(float)
    for lane, events in lanes.items():
        stack: list[tuple[int, str]] = []
        for start, negative, path in sorted(events):
            end = -negative
            while stack and stack[-1][0] <= start:
                stack.pop()
            clipped = _overlap([(start, end)], within)
            total[path] += clipped
            if stack and path.startswith(stack[-1][1]):
                total[stack[-1][1]] -= clipped
            stack.append((end, path))
            if lane == main:
                out.on_main.add(path)
    out.stages = {path: max(0.0, value) * PICO / steps for path, value in total.items()}


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    out: list[Interval] = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            if end > out[-1][1]:
                out[-1] = out[-1][0], end
        elif end > start:
            out.append((start, end))
    return out


def _take(free: list[Interval], taken: list[Interval]) -> tuple[int, list[Interval]]:
    """Return the total of the free time that `taken` covers, and the intervals that stay free."""
    total, left = 0, []
    for begin, end in free:
        at = begin
        index = max(0, bisect_right(taken, (begin, begin)) - 1)
        while index < len(taken) and taken[index][0] < end:
            start, stop = max(at, taken[index][0]), min(end, taken[index][1])
            if stop > start:
                if start > at:
                    left.append((at, start))
                total += stop - start
                at = stop
            index += 1
        if end > at:
            left.append((at, end))
    return total, left


def _overlap(one: list[Interval], other: list[Interval]) -> int:
    return _take(one, other)[0]


def _inside(at: int, within: list[Interval]) -> bool:
    index = bisect_left(within, (at + 1, 0)) - 1
    return index >= 0 and within[index][0] <= at < within[index][1]
