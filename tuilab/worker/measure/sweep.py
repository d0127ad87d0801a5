"""A run along one or two axes: point after point, then new sizes where two arms change places."""

from collections.abc import Mapping, Sequence

from tuilab.analysis.crossover import next_size
from tuilab.analysis.sweeps import crossovers, series_of
from tuilab.model.arms import Arm
from tuilab.model.errors import InputError
from tuilab.model.events import ArmStatus, Point, PointAdded
from tuilab.model.parameters import Integer, check_values
from tuilab.model.scenario import Axis
from tuilab.worker.measure.bench import Bench
from tuilab.worker.measure.faults import unavailable
from tuilab.worker.measure.point import measure_point

BUDGETS = 4
"""A sweep's rounds may take so many times the budget's seconds, all points together."""

REFINING = 0.25
"""The share of that time kept for new sizes; what the first points leave of theirs comes on top."""

MOST_ADDED = 8


def measure_points(bench: Bench, points: Sequence[Point], arms: Sequence[Arm], limit_s: float) -> None:
    """Measure every point, then refine. A point or an arm that fails ends neither. Raises Cancelled.

    limit_s: of one point's rounds; a sweep has four times as much for all of its points, split evenly, what
    one leaves going to those after it.
    """
    sweep = bench.request.sweep
    # Sizes that several workers chose for themselves would not be the same, and who measures some points
    # of a run does not know the others.
    whole = not bench.request.worker and not bench.request.points
    refining = sweep is not None and sweep.refine and len(sweep.axes) == 1 and whole
    total = limit_s * (BUDGETS if sweep else 1)
    first = total * (1 - REFINING) if refining else total
    worst: dict[str, ArmStatus] = {}
    for index, point in enumerate(points):
        share = max(0.0, first - bench.elapsed_s) / (len(points) - index)
        for arm, trouble in _measure(bench, point, arms, share).items():
            if arm not in worst or worst[arm].status != "failed":
                worst[arm] = trouble
    if refining and sweep:
        _refine(bench, sweep.axes[0], len(points), arms, total)
    if sweep:
        _say_of_whole_arms(bench, worst)


def _measure(bench: Bench, point: Point, arms: Sequence[Arm], limit_s: float) -> dict[str, ArmStatus]:
    try:
        declaration = bench.workload.declaration
        values = check_values(
            declaration.parameters, declaration.constraints, {**bench.values, **point.values}
        )
    except InputError as error:
        troubles = {arm.id: unavailable(bench.run, arm.id, str(error), point.index) for arm in arms}
        for trouble in troubles.values():
            bench.reporter.say(trouble)
        return troubles
    return measure_point(bench, point, values, arms, limit_s)


def _say_of_whole_arms(bench: Bench, worst: Mapping[str, ArmStatus]) -> None:
    """An arm that ran at no point at all: how it failed, or last could not run, stands for the whole arm."""
    for arm, trouble in worst.items():
        if not bench.ran(arm):
            bench.reporter.say(
                ArmStatus(
                    run=bench.run,
                    arm=arm,
                    status=trouble.status,
                    reason=trouble.reason,
                    detail=trouble.detail,
                    error=trouble.error,
                )
            )


def _refine(bench: Bench, axis: Axis, first: int, arms: Sequence[Arm], total_s: float) -> None:
    """New sizes around each crossover until it is known well, the time is over or eight were added.

    first: the index of the first new point.
    """
    for added in range(MOST_ADDED):
        left = total_s - bench.elapsed_s
        size = _next(bench, axis) if left > 0 else None
        if size is None:
            return
        point = Point(first + added, {axis.parameter: size})
        bench.reporter.say(PointAdded(run=bench.run, point=point))
        _measure(bench, point, arms, left / (MOST_ADDED - added))


def _next(bench: Bench, axis: Axis) -> int | None:
    """The size that would tell most about the crossovers that the run will be said to have."""
    state = bench.state
    for series in series_of(state):
        for found in crossovers(state):
            a, b = (series.timings(state.arms[arm]) for arm in (found.a, found.b))
            size = next_size(a, b, allowed=lambda at: nearest(bench, axis, at)).size
            if size is not None and size not in series.points:
                return size
    return None


def nearest(bench: Bench, axis: Axis, at: float) -> int:
    """The nearest value that the axis's parameter may take."""
    parameter = bench.workload.declaration.parameter(axis.parameter)
    step = parameter.step if isinstance(parameter, Integer) else 1
    low = parameter.low if isinstance(parameter, Integer) else 0
    return low + round((at - low) / step) * step
