"""Sweeps one or two parameters: measures every point of the grid, then new sizes around each crossover."""

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from tuilab.analysis.sweeps import MOST_ADDED, size_to_add
from tuilab.model.arms import Arm, family
from tuilab.model.errors import InputError
from tuilab.model.events import ArmStatus, Point, PointAdded, WarmedUp, WarmUp
from tuilab.model.found import Found
from tuilab.model.parameters import Integer, LogInteger, Values, check_values, nearest
from tuilab.model.scenario import SETTLED_CALLS, SETTLED_WARM_S, Axis
from tuilab.worker.machine import buses
from tuilab.worker.measure import caveats
from tuilab.worker.measure.bench import Bench, TimedArm
from tuilab.worker.measure.interference import GpuWatch, HostWatch
from tuilab.worker.measure.memory import SizesMemory
from tuilab.worker.measure.phases import measure_account
from tuilab.worker.measure.prepare import failed, not_compilable, prepare, refuse, tight, unavailable
from tuilab.worker.measure.rounds import RoundRobin
from tuilab.worker.measure.warmup import warm_up
from tuilab.worker.measure.work import counted, declared
from tuilab.worker.tracebacks import text_of
from tuilab.workloads.base import Unavailable

WARM_AGAIN = 0.3
"""Later points of a sweep get this share of the usual warm-up time, because the process is already warm."""
WARM_CPU = 0.5
"""A CPU gets this share of the usual warm-up time, because it reaches its full clock rate within
milliseconds; a GPU takes up to a second.
"""


class _Point:
    def __init__(self, bench: Bench, point: Point, values: Values, limit_s: float) -> None:
        self._bench, self._point, self._values, self._limit_s = bench, point, values, limit_s
        self._where = point.index if bench.request.sweep else None
        self._cells: list[TimedArm] = []
        self._troubles: dict[str, ArmStatus] = {}
        self._warming: list[float] = []
        self._watch = HostWatch(whole=True) if bench.short else None
        # True if the plot may already show a sample of this run.
        self._seen = bench.rounds > 0 or bench.short

    def measure(self, arms: Sequence[Arm]) -> dict[str, ArmStatus]:
        """Measure the arms. Returns the status of the arms that could not be measured, by arm id.

        Raises Cancelled. Frees the arms' memory even after an error.
        """
        self._bench.reporter.say(*declared(self._bench, self._point.index, self._values))
        if words := tight(self._bench.workload, self._values, arms):
            self._bench.flag([Found("memory-tight", words)], point=self._where)
        try:
            telling, others = telling_first(arms)
            begun = self._seen
            for arm in (*telling, *others):
                cell = self._prepare(arm)
                if cell is not None and not begun and (arm in telling or not self._seen):
                    # Warm up these arms first, so that the user sees one figure per device before the other
                    # arms are built.
                    self._try(cell, self._warm)
            self._bench.wait_prepared()
            if self._watch is not None:
                self._watch.start(self._bench.rounds)
            for cell in [cell for cell in self._cells if not cell.warmth.calls]:
                self._try(cell, self._warm)
            if self._cells:
                self._rounds()
            for cell in list(self._cells) if self._bench.request.phases else []:
                self._phases(cell)
        finally:
            for cell in self._cells:
                self._close(cell)
            self._cells.clear()
            gc.collect()
        return self._troubles

    def _prepare(self, arm: Arm) -> TimedArm | None:
        try:
            refuse(self._bench.workload, self._values, arm)
            cell = prepare(self._bench, arm, self._values, self._point.index)
            self._cells.append(cell)
            self._bench.reporter.say(*counted(self._bench, cell))
        except (Exception, SystemExit) as error:
            self._trouble(arm, error)
            return None
        return cell

    def _try(self, cell: TimedArm, step: Callable[[TimedArm], None]) -> None:
        try:
            step(cell)
        except (Exception, SystemExit) as error:
            self._drop(cell, error)

    def _warm(self, cell: TimedArm) -> None:
        bench, budget = self._bench, self._bench.budget
        share = WARM_AGAIN if bench.rounds else 1.0
        share *= WARM_CPU if family(cell.device or "") == "CPU" else 1.0
        settles = cell.arm.id in bench.request.settled
        bench.progress("warming up", arm=cell.arm.id)
        bench.reporter.settle()
        warmth = cell.warmth = warm_up(
            cell,
            bench.stopwatch_of(cell),
            busy_s=SETTLED_WARM_S if settles else budget.warm_s * share,
            limit_s=budget.warm_limit_s,
            check=bench.check,
            tell=partial(self._report_warmup, cell),
            settles_in=SETTLED_CALLS if settles else 0,
        )
        bench.reporter.say(
            self._warm_blocks(cell),
            WarmedUp(
                run=bench.run,
                arm=cell.arm.id,
                point=cell.point,
                seconds=warmth.seconds,
                calls=warmth.calls,
                warm=warmth.warm,
                at_once=warmth.at_once,
            ),
        )

    def _report_warmup(self, cell: TimedArm, per_call_s: float) -> None:
        """Report the warm-up, but no more often than rounds are reported.

        The first block is reported at once, so that moving a slider has a visible effect.
        """
        self._warming.append(per_call_s)
        reporter = self._bench.reporter
        if reporter.due or not self._seen:
            self._seen = True
            reporter.say(self._warm_blocks(cell))
            reporter.settle()

    def _warm_blocks(self, cell: TimedArm) -> WarmUp:
        samples, self._warming = tuple(self._warming), []
        return WarmUp(run=self._bench.run, arm=cell.arm.id, point=cell.point, samples_s=samples)

    def _rounds(self) -> None:
        bench = self._bench
        if bench.context.gpus.opened and not bench.rounds:
            bench.gpus = GpuWatch(buses(bench.context.gpus), (cell.device for cell in self._cells))
        try:
            bench.progress("measuring", 0.0, self._limit_s, "s")
            RoundRobin(bench, self._cells, self._limit_s, self._drop, self._watch).run()
        finally:
            for cell in [cell for cell in self._cells if cell.samples]:
                bench.flag(caveats.of_cell(cell, bench.budget), cell.arm.id, self._where)

    def _phases(self, cell: TimedArm) -> None:
        bench = self._bench
        bench.progress("phases", arm=cell.arm.id)
        bench.reporter.settle()
        try:
            bench.reporter.say(*measure_account(bench, cell))
        except (Exception, SystemExit) as error:
            bench.log_error(cell.arm.id, "its time could not be split", error)

    def _drop(self, cell: TimedArm, error: BaseException) -> None:
        self._cells.remove(cell)
        self._close(cell)
        self._trouble(cell.arm, error)

    def _trouble(self, arm: Arm, error: BaseException) -> None:
        why = text_of(error) if isinstance(error, Unavailable) else not_compilable(error)
        if why or isinstance(error, Unavailable):
            status = unavailable(self._bench.run, arm.id, why, self._where)
        else:
            status = failed(self._bench.run, arm.id, error, self._where)
        self._troubles[arm.id] = status
        self._bench.reporter.say(status)

    def _close(self, cell: TimedArm) -> None:
        try:
            cell.case.close()
        except Exception as error:
            text = f"{cell.arm.id}: closing the arm raised {type(error).__name__}: {text_of(error)}"
            self._bench.context.log(text, self._bench.run)


def telling_first(arms: Sequence[Arm]) -> tuple[list[Arm], list[Arm]]:
    """Return one graph arm per device, to measure first, and the other arms.

    A preset may have fifty arms, and each takes a second or more to build. The first arms already show
    whether the GPU is faster.
    """
    first: dict[str, Arm] = {}
    for arm in arms:
        if arm.mode == "graph":
            first.setdefault(arm.device, arm)
    return list(first.values()), [arm for arm in arms if arm not in first.values()]


BUDGETS = 4
"""Maximum time of a sweep's rounds over all points, as a multiple of the budget's seconds."""

REFINING = 0.25
"""Share of a sweep's time that is reserved for sizes added around crossovers."""


def measure_points(bench: Bench, points: Sequence[Point], arms: Sequence[Arm], limit_s: float) -> None:
    """Measure every point, then add sizes around each crossover. A failing point or arm does not stop the
    others. Raises Cancelled.

    limit_s: seconds for the rounds of one point. All points of a sweep together get four times this limit,
    split evenly; unused time passes to later points.
    """
    sweep = bench.request.sweep
    # Refine only in a single process that measures all points: several workers would choose different sizes,
    # and a process with only some of the points does not know the others.
    whole = not bench.request.worker and not bench.request.points
    refining = sweep is not None and sweep.refine and len(sweep.axes) == 1 and whole
    total = limit_s * (BUDGETS if sweep else 1)
    first = total * (1 - REFINING) if refining else total
    worst: dict[str, ArmStatus] = {}
    memory = SizesMemory()
    for index, point in enumerate(points):
        share = max(0.0, first - bench.elapsed_s) / (len(points) - index)
        for arm, trouble in _fitting(bench, point, arms, share, memory).items():
            if arm not in worst or worst[arm].status != "failed":
                worst[arm] = trouble
    if refining and sweep:
        _refine(bench, sweep.axes[0], len(points), arms, total)
    if sweep:
        _say_of_whole_arms(bench, worst)


def _fitting(
    bench: Bench, point: Point, arms: Sequence[Arm], limit_s: float, memory: SizesMemory
) -> dict[str, ArmStatus]:
    size = math.prod(float(value) for value in point.values.values() if isinstance(value, (int, float)))
    if lacking := memory.lacking(size):
        return _none_runs(bench, point, arms, lacking)
    memory.begin()
    troubles = _measure(bench, point, arms, limit_s)
    memory.end(size)
    return troubles


def _none_runs(bench: Bench, point: Point, arms: Sequence[Arm], why: str) -> dict[str, ArmStatus]:
    troubles = {arm.id: unavailable(bench.run, arm.id, why, point.index) for arm in arms}
    bench.reporter.say(*troubles.values())
    return troubles


def _measure(bench: Bench, point: Point, arms: Sequence[Arm], limit_s: float) -> dict[str, ArmStatus]:
    try:
        declaration = bench.workload.declaration
        values = check_values(
            declaration.parameters, declaration.constraints, {**bench.values, **point.values}
        )
    except InputError as error:
        return _none_runs(bench, point, arms, text_of(error))
    return _Point(bench, point, values, limit_s).measure(arms)


def _say_of_whole_arms(bench: Bench, worst: Mapping[str, ArmStatus]) -> None:
    for arm, trouble in worst.items():
        if not bench.ran(arm):
            bench.reporter.say(msgspec.structs.replace(trouble, point=None))


def _refine(bench: Bench, axis: Axis, first: int, arms: Sequence[Arm], total_s: float) -> None:
    """Add sizes around each crossover until all are precise, the time is up, or `MOST_ADDED` sizes were
    added.

    first: index of the first new point.
    """
    parameter = bench.workload.declaration.parameter(axis.parameter)
    assert isinstance(parameter, Integer | LogInteger)
    for added in range(MOST_ADDED):
        left = total_s - bench.elapsed_s
        size = size_to_add(bench.state, partial(nearest, parameter)) if left > 0 else None
        if size is None:
            return
        point = Point(first + added, {**axis.at(size)})
        bench.reporter.say(PointAdded(run=bench.run, point=point))
        _measure(bench, point, arms, left / (MOST_ADDED - added))
