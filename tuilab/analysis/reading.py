"""Answers questions about a run's state: which arms ran at a point, which sizes were measured, which figures
are missing.
"""

import math
import re
from collections.abc import Sequence

from tuilab.analysis.account import scaled, unknown
from tuilab.analysis.processes import kept_estimate, log_mean, log_ratio
from tuilab.analysis.ratios import RatioEstimate, from_location, unpaired
from tuilab.analysis.statistics import Estimate, estimate, median, once
from tuilab.analysis.words import listed, on_axis, size, times
from tuilab.model.account import Account
from tuilab.model.arms import family
from tuilab.model.events import Node, Point, Status, ops_of
from tuilab.model.machine import Machine
from tuilab.model.parameters import Value
from tuilab.model.quantity import as_shown, plural, rate, seconds
from tuilab.model.roofline import DeviceRoofs, Roofs
from tuilab.model.run import ArmSamples, ArmState, RunState

NOT_YET = "not measured yet"
NUMPY_INSIDE = "numpy-inside"
"""Code of the caveat that a function computes partly in NumPy or Python, on the host."""
VANISHED = "does-not-compute"
"""Code of the caveat for an arm whose work was folded, pruned, or done outside the call."""
BEYOND = 1.25
"""A profile describes the run if the unprofiled calls next to the profile and the run's own calls differ in
duration by at most this factor.
"""
RETRACED = "retraced"
"""Code of the caveat for an arm that is retraced in each call, so its time is mostly tracing."""
SINGLE_S = 20e-6
"""Maximum seconds that timing a single call adds to the call."""
BEYOND_PEAK = 1.5
"""Maximum factor by which an arm's rate may exceed the highest measured peak."""
LEAST_FREE = 0.1
"""Minimum share of the processors that is assumed to have been free while a peak was measured. The peak is
divided by the free share.
"""
TOO_LATE = "the run ended before it was measured"


def axes(state: RunState) -> tuple[str, ...]:
    return tuple(axis.parameter for axis in state.sweep.axes) if state.sweep else ()


def value_at(state: RunState, point: Point, parameter: str) -> Value:
    """Return a parameter's value at a point: the point's own, else the scenario's, else 0."""
    if parameter in point.values:
        return point.values[parameter]
    return state.scenario.parameters.get(parameter, 0) if state.scenario else 0


def unfinished(state: RunState) -> set[int]:
    """Return the points of a sweep that are in progress or were cut short.

    A host measures one point after another, so only its last point can be cut short.
    """
    if state.sweep is None or state.budget is None or state.status == "ok":
        return set()
    last: dict[str, tuple[int, int]] = {}
    for arm in state.arms.values():
        for point, cell in arm.cells.items():
            if cell.rounds:
                host = state.where.get(point, "")
                last[host] = max(last.get(host, (-1, -1)), (cell.rounds[-1], point))
    short = {
        point
        for arm in state.arms.values()
        for point, cell in arm.cells.items()
        if len(cell.samples) < state.budget.rounds and arm_status(state, arm, point)[0] != "failed"
    }
    return {point for _, point in last.values()} & short


def summary_point(state: RunState) -> int:
    """Return the index of a sweep's headline point: the point nearest to the scenario's own values.

    Chooses the nearest (by ratio) of the finished points, or else of the started points, or else of the
    points in preparation. Returns 0 without a sweep.
    """
    if not state.points or state.sweep is None:
        return 0
    begun = state.sampled_points
    finished = begun - unfinished(state) or begun or {i for arm in state.arms.values() for i in arm.cells}
    candidates = [p for p in state.points if p.index in finished] or state.points
    return min(candidates, key=lambda p: (_distance(state, p), p.index)).index


def _distance(state: RunState, point: Point) -> float:
    total = 0.0
    for axis in axes(state):
        here = value_at(state, point, axis)
        home = state.scenario.parameters.get(axis, here) if state.scenario else here
        if isinstance(here, int) and isinstance(home, int) and here > 0 and home > 0:
            total += abs(math.log(here / home))
        else:
            total += here != home
    return total


def arm_status(state: RunState, arm: ArmState, point: int) -> tuple[Status, str]:
    """Return an arm's status at a point, with the reason.

    An arm that has samples and did not fail is `ok`, however the run ended. An arm without data is
    `cancelled`, which means "not measured yet" while the run continues.
    """
    cell = arm.cells.get(point)
    if arm.status in ("unavailable", "failed"):
        return arm.status, arm.reason
    if cell is not None and cell.status not in (None, "ok"):
        return cell.status, cell.reason
    if cell is not None and cell.samples:
        return "ok", ""
    if arm.status == "cancelled":
        return "cancelled", arm.reason or TOO_LATE
    if arm.status == "ok" and state.status in (None, "ok") and not state.sweep:
        return "ok", arm.reason
    return "cancelled", NOT_YET if state.running else TOO_LATE


def estimate_at(arm: ArmState, point: int) -> Estimate | None:
    """Return the median seconds per call with its interval; None if no block was timed."""
    cell = arm.cells.get(point)
    if cell is None or not cell.samples:
        return None
    return kept_estimate(cell)


def words_at(arm: ArmState, point: int) -> str:
    """Return the arm's median in words, such as `0.48 ms`; `–` if no block was timed."""
    estimate = estimate_at(arm, point)
    return estimate.words if estimate is not None else "–"


def latency_at(arm: ArmState, point: int) -> float | None:
    """Return the median of the single synchronized calls in seconds; None if there are none."""
    cell = arm.cells.get(point)
    if cell is None or not cell.latencies:
        return None
    return once(cell, "latency", lambda: median(cell.latencies))


def by_round(arm: ArmState, point: int) -> dict[int, float]:
    """Return seconds per call by round; empty if nothing was timed."""
    cell = arm.cells.get(point)
    return dict(zip(cell.rounds, cell.samples, strict=True)) if cell is not None else {}


def compare(a: ArmState, b: ArmState, point: int) -> RatioEstimate | None:
    """Return a's time over b's at a point, paired if the arms share rounds; None unless both were timed."""
    one, other = a.cells.get(point), b.cells.get(point)
    if one is None or other is None:
        return None
    return once(one, ("ratio", b.arm.id), lambda: _ratio(one, other), other)


def _ratio(one: ArmSamples, other: ArmSamples) -> RatioEstimate | None:
    middle = log_ratio(one, other)
    return unpaired(log_mean(one), log_mean(other)) if middle is None else from_location(middle)


MINOR = 0.25
"""Of two reasons for a difference, one that explains less than this share of the other is not named."""
QUOTIENT = "; the quotient of the medians is "
QUOTIENT_CLAUSE = re.compile(rf"{QUOTIENT}(\S+), because [^.;)]+")
"""Finds the clause of `by_rounds` in a sentence; its group is the quotient."""


def by_rounds(ratio: RatioEstimate, a: ArmState, b: ArmState, point: int) -> str:
    """Return a clause that explains why the quotient of the displayed medians differs from `ratio`; "" if it
    is within the interval of `ratio`.

    ratio: a's time over b's.
    """
    one, other = estimate_at(a, point), estimate_at(b, point)
    if one is None or other is None or not one.median or not other.median or ratio.interval is None:
        return ""
    shown = as_shown(one.median, one.half_width) / as_shown(other.median, other.half_width)
    above_one, quotient = (ratio, shown) if ratio.ratio >= 1 else (ratio.turned, 1 / shown)
    low, high = above_one.interval or (0.0, math.inf)
    if low <= quotient <= high or above_one.words == times(quotient, above_one.half_width):
        return ""
    why = "the medians combine rounds of different speeds" if ratio.paired else "the ratio compares means"
    exact = one.median / other.median
    by_rounding, otherwise = abs(math.log(shown / exact)), abs(math.log(exact / ratio.ratio))
    if otherwise < MINOR * by_rounding:
        why = "the medians are rounded"
    elif by_rounding > MINOR * otherwise:
        why = f"the medians are rounded, and {why.removeprefix('the medians ')}"
    return f"{QUOTIENT}{times(quotient)}, because {why}"


def device_of(arm: ArmState, point: int) -> str | None:
    cell = arm.cells.get(point)
    return (cell.device if cell is not None else None) or arm.device


def family_of(arm: ArmState, point: int) -> str:
    """Return the kind, `CPU` or `GPU`, of the observed device, or else of the requested one."""
    return family(device_of(arm, point) or arm.arm.device)


def elsewhere(arm: ArmState, point: int) -> bool:
    return family_of(arm, point) != family(arm.arm.device)


def name_of(arm: ArmState, point: int) -> str:
    """Return the arm's label, with the observed device added if it differs from the device in the label."""
    return f"{arm.label} (which ran on {device_of(arm, point)})" if elsewhere(arm, point) else arm.label


def measured(state: RunState, point: int) -> list[ArmState]:
    """Return the arms that are `ok` at a point with a positive median, fastest first.

    Excludes arms that do not compute what was requested.
    """
    timed: list[tuple[float, int, ArmState]] = []
    for arm in state.arms.values():
        figure = estimate_at(arm, point)
        ok = arm_status(state, arm, point)[0] == "ok" and not vanished(state, arm, point)
        if figure is not None and figure.median > 0 and ok:
            timed.append((figure.median, len(timed), arm))
    return [arm for _, _, arm in sorted(timed, key=lambda row: row[:2])]


def vanished(state: RunState, arm: ArmState, point: int) -> str:
    """Describe how the work of an arm differs from what was requested; "" if it does not.

    Based on its calls and graph (`measure.validity`), or on its rate.
    """
    seen = next((f.message for f in arm.flags if f.code == VANISHED and f.point in (None, point)), "")
    return seen or beyond_peak(state, arm, point)


def retraced(arm: ArmState, point: int) -> str:
    """Return a note if each call of an arm is retraced, else ""."""
    return next((f.message for f in arm.flags if f.code == RETRACED and f.point in (None, point)), "")


def does(arm: ArmState, point: int) -> str:
    work = arm.work.get(point)
    return work.does if work is not None else ""


def comparable(state: RunState, point: int) -> list[list[ArmState]]:
    """Return groups of measured arms that do the same work, fastest arm first. The groups are in the run's
    order.

    Leaves out arms that are retraced in each call.
    """
    arms = [arm for arm in measured(state, point) if not retraced(arm, point)]
    kinds = dict.fromkeys(does(arm, point) for arm in state.arms.values())
    groups = [[arm for arm in arms if does(arm, point) == kind] for kind in kinds]
    return [group for group in groups if group]


def beyond_peak(state: RunState, arm: ArmState, point: int) -> str:
    """Return a note if an arm is faster than its machine can compute and therefore cannot have done the work;
    else "".

    Compares the arm's rate with the highest peak of any dtype, and adds a margin if the peak was measured
    while other processes used the processors. Considers only operations, because bytes may come from a cache.
    """
    work, figure, roofs = arm.work.get(point), estimate_at(arm, point), roofs_of(state, arm)
    if work is None or not work.needed_flop or work.on_host or figure is None or roofs is None:
        return ""
    device = device_roofs(state, arm, point)
    top = max(device.peaks.values(), default=0.0) if device is not None else 0.0
    slowest = max(figure.interval) if figure.interval is not None else figure.median
    if (
        not top
        or slowest <= 0
        or work.needed_flop / slowest <= BEYOND_PEAK * top / max(LEAST_FREE, 1 - roofs.others)
    ):
        return ""
    done = rate(work.needed_flop / slowest, "FLOP/s")
    return f"the call would compute at {done}, but the highest rate measured here is {rate(top, 'FLOP/s')}"


def machine_of(state: RunState, arm: ArmState) -> Machine | None:
    return state.machines.get(arm.arm.host, state.machine)


def roofs_of(state: RunState, arm: ArmState) -> Roofs | None:
    machine = machine_of(state, arm)
    return state.roofs.get(machine.key) if machine is not None else None


def device_roofs(state: RunState, arm: ArmState, point: int) -> DeviceRoofs | None:
    roofs = roofs_of(state, arm)
    return roofs.devices.get(arm.arm.device if family_of(arm, point) == "GPU" else "CPU:0") if roofs else None


def machines(state: RunState) -> list[Machine]:
    """Return the machines of the run, starting with the machine on which the run began."""
    every = [state.machine, *state.machines.values()] if state.machine is not None else []
    return list({machine: None for machine in every if machine is not None})


def has_gpu(state: RunState) -> bool:
    return any(machine.gpus for machine in machines(state))


def emulated_sentence(state: RunState) -> str:
    ran = (machine_of(state, arm) for arm in state.arms.values() if "GPU" in (arm.device or ""))
    return next((note for machine in ran if machine is not None and (note := machine.emulated_note)), "")


def no_gpu_sentence(state: RunState) -> str:
    reasons = dict.fromkeys(machine.no_gpu.strip().rstrip(".") for machine in machines(state))
    reason = "; ".join(reason for reason in reasons if reason)
    return f"No GPU is visible ({reason})." if reason else "No GPU is visible."


def op_counts(arm: ArmState, point: int) -> dict[str, int]:
    """Return the number of ops of each type that the arm runs, without copies and folded ops; empty if not
    observed.
    """
    counts: dict[str, int] = {}
    for node in ops_of(nodes_at(arm, point)):
        counts[node.op] = counts.get(node.op, 0) + node.count
    return counts


def op_total(arm: ArmState, point: int) -> int:
    """Return the number of ops that the arm runs, as `op_counts` counts them; 0 if not observed."""
    return sum(op_counts(arm, point).values())


def launches(arm: ArmState, point: int) -> str:
    """Return what a call of the arm launches, such as `435 ops`; "" if this was not observed.

    `at least 8 ops` if a loop's length depends on the data; `one program` under XLA.
    """
    number = op_total(arm, point)
    if not number:
        return ""
    if arm.arm.mode == "xla":
        return "one program"
    return f"{'at least ' if endless(arm, point) else ''}{plural(number, 'op')}"


def endless(arm: ArmState, point: int) -> bool:
    """Return True if the arm has a loop whose length depends on the data; the loop's ops count only once."""
    work = arm.work.get(point)
    return work is not None and any("While" in op.partition(" ")[0] for op in work.uncounted)


def account_at(arm: ArmState, point: int) -> Account | None:
    """Return the account of a call, scaled to the arm's median; None if the arm was not profiled or timed.

    If the unprofiled calls next to the profile took much longer or shorter than the run's own calls, all
    parts are unknown: the machine's load differed, so the profile does not describe the measured calls.
    """
    cell, figure = arm.cells.get(point), estimate_at(arm, point)
    if cell is None or cell.account is None or figure is None or figure.median <= 0:
        return None
    account = cell.account
    return once(cell, "account", lambda: _at_median(cell, account, figure.median))


def _at_median(cell: ArmSamples, account: Account, median_s: float) -> Account:
    low, high = _middle(sorted(cell.samples))
    latest = max(_middle(sorted(cell.latencies))[1] if cell.latencies else 0.0, high)
    if low / BEYOND <= account.total_s <= latest * BEYOND + SINGLE_S:
        return scaled(account, median_s)
    return unknown(
        median_s,
        f"the profiled calls took {seconds(account.total_s)}, which differs from this run's "
        f"{seconds(median_s)} by more than the spread explains",
    )


def _middle(ordered: Sequence[float]) -> tuple[float, float]:
    cut = len(ordered) // 20
    return ordered[cut], ordered[-1 - cut]


def nodes_at(arm: ArmState, point: int) -> Sequence[Node]:
    """Return the arm's placement at a point, or else at the first point at which it was observed."""
    if point in arm.placement:
        return arm.placement[point]
    return arm.placement[min(arm.placement)] if arm.placement else ()


AxisValues = tuple[tuple[str, Value], ...]
"""A value for each parameter that any of the runs sweeps; empty without a sweep."""


def swept(states: Sequence[RunState]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for state in states for name in axes(state)))


def places(state: RunState, names: Sequence[str]) -> dict[AxisValues, int]:
    """Map each point's values of the named parameters to the point's index.

    A run without a sweep has a single point, at the scenario's values.
    """
    return {place_of(state, point, names): point.index for point in state.points or (Point(0),)}


def place_of(state: RunState, point: Point, names: Sequence[str]) -> AxisValues:
    return tuple((name, value_at(state, point, name)) for name in names)


def point_words(state: RunState, index: int, names: Sequence[str]) -> str:
    """Return the point's values of the named parameters in words, as `place_words` does."""
    point = state.point(index)
    return place_words(place_of(state, point, names)) if point is not None else ""


def ordered(unordered: Sequence[AxisValues]) -> list[AxisValues]:
    return sorted(set(unordered), key=lambda place: [(isinstance(v, str), v) for _, v in place])


def place_words(place: AxisValues) -> str:
    """Return `1,024 samples and frame length 256`; "" for the single point of a run without a sweep."""
    return listed([on_axis(name, size(v) if type(v) is int else str(v)) for name, v in place])


def missing(state: RunState) -> dict[str, list[int]]:
    """Return, for each arm that can run, the points at which it lacks rounds or precision."""
    points = [point.index for point in state.points] or [0]
    lacking = {
        name: [point for point in points if _lacks(state, arm, point)] for name, arm in state.arms.items()
    }
    return {name: lacked for name, lacked in lacking.items() if lacked}


def can_run(arm: ArmState) -> bool:
    return arm.status != "unavailable" and not arm.error


def _lacks(state: RunState, arm: ArmState, point: int) -> bool:
    cell, budget = arm.cells.get(point), state.budget
    if not can_run(arm) or budget is None:
        return False
    if cell is None:
        return True
    if cell.status == "unavailable" or cell.error:
        return False
    figure = estimate(cell.samples)
    half = figure.relative_half_width if figure else None
    return len(cell.samples) < budget.rounds or half is None or half > budget.precision


def contended(state: RunState) -> bool:
    """Return True if other processes used the host's processors, which makes launches slower."""
    return any(flag.code == "cpu-contention" for flag in state.flags)
