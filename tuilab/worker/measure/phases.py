"""Where one call's time goes: each part timed by itself, beside the whole."""

import statistics
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tuilab.analysis.statistics import estimate
from tuilab.analysis.words import plural
from tuilab.model.arms import family
from tuilab.model.events import Phases
from tuilab.model.quantity import seconds
from tuilab.model.scenario import BudgetName
from tuilab.worker.build import empty_call
from tuilab.worker.measure.bench import Bench, TimedArm
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.worker.profile.account import Window, windows
from tuilab.worker.profile.record import profiled
from tuilab.worker.profile.threads import activity
from tuilab.worker.profile.xplane import Line, read
from tuilab.workloads.base import Case

PICO = 1e-12


def kernel_seconds(tf: Any, call: Callable[[], object], calls: int) -> list[float]:
    """Seconds in which at least one kernel ran on the host, of each of so many calls; [] where none was seen.

    A pass of its own, never inside a timed block: recording slows what lies between kernels, not the kernels.
    """
    taken = profiled(tf, call, calls)
    found = computing(read(taken[1]).lines) if taken else []
    return [each * PICO for each in found] if any(found) else []


def computing(lines: Sequence[Line]) -> list[int]:
    """Picoseconds in which a kernel ran, of each call in a profile; the input pipeline's not."""
    found = activity(lines)
    calls = windows(found.events)
    spans: list[list[Window]] = [[] for _ in calls]
    for segment in found.segments:
        index = bisect_right(calls, (segment.start, float("inf"))) - 1
        if segment.meaning.phase == "compute" and not segment.pipeline and index >= 0:
            spans[index].append((segment.start, min(segment.end, calls[index][1])))
    return [covered(each) for each in spans]


def covered(spans: Iterable[Window]) -> int:
    """The length of the union of spans: kernels that run side by side count once."""
    total, until = 0, -1
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


SECONDS: dict[BudgetName, float] = {"quick": 0.1, "standard": 0.5, "publish": 1.0}
"""How long the pass takes for one cell, unless one call takes longer."""

MOST = 200
PROFILED_S, PROFILED_CALL_S, PROFILED_CALLS = 0.05, 0.25, 20
"""The profiler writes an event every microsecond or two: a long call would fill the memory."""


@dataclass
class _Parts:
    """Seconds of each part, one entry a repetition. enqueued: until `compute` returned."""

    total: list[float] = field(default_factory=list)
    copy_in: list[float] = field(default_factory=list)
    enqueued: list[float] = field(default_factory=list)
    compute: list[float] = field(default_factory=list)
    copy_out: list[float] = field(default_factory=list)


def measure_phases(bench: Bench, cell: TimedArm) -> Phases | None:
    """The phases of a call, null where the workload has no parts to time. Raises what its parts raise.

    copy_in, copy_out: the workload's own copies, each a synchronised call by itself.
    dispatch and compute split what is left, the computation itself:
    on a GPU, dispatch is the time until the call returns without waiting, and compute how much longer the
    device needs; a device that keeps up with the host shows little compute, because little is waited for.
    On a CPU, where ops run before the call returns, compute is the time in which at least one kernel ran
    (TensorFlow's profiler, a pass of its own) and dispatch that of an equal call without work.
    residual: the remainder, the whole less the sum; what a call does besides, and where parts overlap, a
    negative figure.
    """
    case, time_s = cell.case, SECONDS["quick" if bench.request.sweep else bench.request.budget.name]
    if case.phases is not None:
        with case.scope():
            figures = dict(case.phases(time_s))
        return _event(bench, cell, figures, _whole(bench, cell, time_s), "timed by the workload itself")
    if case.compute is None:
        return None
    with case.scope():
        parts = _time(bench, cell, time_s)
        figures, note, timed = _split(bench, cell, parts)
    if parts.copy_in:
        figures = {"copy_in": statistics.median(parts.copy_in), **figures}
    if parts.copy_out:
        figures["copy_out"] = statistics.median(parts.copy_out)
    whole = statistics.median(parts.total or parts.compute)
    timed |= {"copy_in": parts.copy_in, "copy_out": parts.copy_out, "total": parts.total or parts.compute}
    known = {name: found for name, samples in timed.items() if (found := estimate(samples)) is not None}
    intervals = {name: found.interval for name, found in known.items() if found.interval is not None}
    return _event(bench, cell, figures, whole, note, intervals)


def _whole(bench: Bench, cell: TimedArm, time_s: float) -> float:
    if cell.call_s > time_s:
        return statistics.median(cell.samples) if cell.samples else cell.call_s
    stopwatch = bench.stopwatch_of(cell)
    return statistics.median(stopwatch.block(cell.case, 1) for _ in range(_repetitions(cell, time_s)))


def _repetitions(cell: TimedArm, time_s: float) -> int:
    """How often the parts and the whole fit into the time: 3 to 200, once where one call outlasts it."""
    if cell.call_s > time_s:
        return 1
    return max(3, min(MOST, int(time_s / (2 * cell.call_s)) if cell.call_s else MOST))


def _time(bench: Bench, cell: TimedArm, time_s: float) -> _Parts:
    stopwatch, case, parts = bench.stopwatch_of(cell), cell.case, _Parts()
    for _ in range(_repetitions(cell, time_s)):
        bench.check()
        if case.copy_in or case.copy_out:
            parts.total.append(stopwatch.time(case.call))
        _time_once(stopwatch, case, parts)
    return parts


def _time_once(stopwatch: Stopwatch, case: Case, parts: _Parts) -> None:
    assert case.compute is not None
    kept: list[object] = []

    def compute() -> None:
        kept.append(case.compute())  # type: ignore[misc]

    if case.copy_in:
        parts.copy_in.append(stopwatch.time(case.copy_in))
    enqueued, done = stopwatch.split(compute)
    parts.enqueued.append(enqueued)
    parts.compute.append(done)
    if case.copy_out:
        copy_out = case.copy_out
        parts.copy_out.append(stopwatch.time(lambda: copy_out(kept[0])))


def _split(
    bench: Bench, cell: TimedArm, parts: _Parts
) -> tuple[dict[str, float], str, dict[str, list[float]]]:
    """Dispatch and compute out of the computation's own time, how they were told apart, and the timings."""
    done = statistics.median(parts.compute)
    if family(cell.device) != "CPU":
        enqueued = statistics.median(parts.enqueued)
        note = "dispatch: until the call returned; compute: what the device needed beyond that"
        if cell.host_ops:
            note += f"; {plural(cell.host_ops, 'op')} ran on the host, within dispatch"
        waited = [max(0.0, d - e) for d, e in zip(parts.compute, parts.enqueued, strict=True)]
        timed = {"dispatch": parts.enqueued, "compute": waited}
        return {"dispatch": enqueued, "compute": max(0.0, done - enqueued)}, note, timed
    if done > PROFILED_CALL_S:
        return {"compute": done}, "one call takes too long to profile: dispatch is within compute", {}
    assert cell.case.compute is not None
    calls = max(1, min(PROFILED_CALLS, int(PROFILED_S / done) if done else PROFILED_CALLS))
    kernels = kernel_seconds(bench.context.tf, cell.case.compute, calls)
    if not kernels:
        return {"compute": done}, "the profiler saw no kernel: dispatch is within compute", {}
    inside = statistics.median(kernels)
    empty_calls, how = _empty_call(bench, cell)
    empty = statistics.median(empty_calls)
    # What the runtime and Python do between kernels beyond that is the remainder, and is called so.
    dispatch = min(empty, max(0.0, done - inside))
    note = f"compute: while a kernel ran, as TensorFlow's profiler saw it; dispatch: {how}"
    timed = {"compute": kernels} if dispatch < empty else {"compute": kernels, "dispatch": empty_calls}
    return {"dispatch": dispatch, "compute": inside}, note, timed


def _empty_call(bench: Bench, cell: TimedArm) -> tuple[list[float], str]:
    """Seconds of equal calls without work, and how that was measured."""
    tf, eager = bench.context.tf, cell.arm.mode == "eager"
    given = cell.case.arguments if all(tf.is_tensor(each) for each in cell.case.arguments) else ()
    call, often = empty_call(tf, cell.arm.mode, *(() if eager else given)), 50 if eager else 20
    call()
    each = [bench.stopwatch.time(call, often) / often for _ in range(9)]
    if not eager:
        return each, "a call of an equal function that hands its input back"
    how = f"{plural(cell.ops, 'op')}, {seconds(statistics.median(each))} for one that does nothing"
    return [max(1, cell.ops) * one for one in each], how


def _event(
    bench: Bench,
    cell: TimedArm,
    figures: Mapping[str, float],
    total: float,
    note: str,
    intervals: Mapping[str, tuple[float, float]] | None = None,
) -> Phases:
    return Phases(
        run=bench.run,
        arm=cell.arm.id,
        point=cell.point,
        phases_s=dict(figures),
        total_s=total,
        residual_s=total - sum(figures.values()),
        note=note,
        ci95_s=dict(intervals or {}),
    )
