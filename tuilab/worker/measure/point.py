"""One point of a run: its arms built, warmed, measured in rounds, and let go of."""

import gc
from collections.abc import Callable, Sequence
from functools import partial

from tuilab.model.arms import Arm, family
from tuilab.model.events import ArmStatus, Point, WarmedUp, WarmUp
from tuilab.model.parameters import Values
from tuilab.worker.measure import caveats
from tuilab.worker.measure.bench import Bench
from tuilab.worker.measure.faults import failed, unavailable
from tuilab.worker.measure.gpus import GpuWatch, buses
from tuilab.worker.measure.memory import refuse
from tuilab.worker.measure.phases import measure_phases
from tuilab.worker.measure.prepare import prepare
from tuilab.worker.measure.rounds import Rounds
from tuilab.worker.measure.timed_arm import TimedArm
from tuilab.worker.measure.warmup import warm_up
from tuilab.workloads.base import Unavailable

WARM_AGAIN = 0.3
"""At the later points of a sweep the process is warm already and only the new function is not."""
WARM_CPU = 0.5
"""A processor has its clock within milliseconds, where a GPU takes up to a second."""


def measure_point(
    bench: Bench, point: Point, values: Values, arms: Sequence[Arm], limit_s: float
) -> dict[str, ArmStatus]:
    """Measure the arms at one point. Returns what was said of those that could not be, by arm.

    Raises Cancelled. Memory is free again afterwards, however it ends.
    """
    return _Point(bench, point, values, limit_s).measure(arms)


class _Point:
    def __init__(self, bench: Bench, point: Point, values: Values, limit_s: float) -> None:
        self._bench, self._point, self._values, self._limit_s = bench, point, values, limit_s
        self._where = point.index if bench.request.sweep else None
        self._cells: list[TimedArm] = []
        self._troubles: dict[str, ArmStatus] = {}
        self._warming: list[float] = []

    def measure(self, arms: Sequence[Arm]) -> dict[str, ArmStatus]:
        try:
            for arm in arms:
                self._prepare(arm)
            for cell in list(self._cells):
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

    def _prepare(self, arm: Arm) -> None:
        try:
            refuse(self._bench.workload, self._values)
            self._cells.append(prepare(self._bench, arm, self._values, self._point.index))
        except (Exception, SystemExit) as error:
            self._trouble(arm, error)

    def _try(self, cell: TimedArm, step: Callable[[TimedArm], None]) -> None:
        try:
            step(cell)
        except (Exception, SystemExit) as error:
            self._drop(cell, error)

    def _warm(self, cell: TimedArm) -> None:
        bench, budget = self._bench, self._bench.request.budget
        share = WARM_AGAIN if bench.rounds else 1.0
        share *= WARM_CPU if family(cell.device or "") == "CPU" else 1.0
        bench.progress("warming up", arm=cell.arm.id)
        bench.reporter.settle()
        warmth = cell.warmth = warm_up(
            cell,
            bench.stopwatch,
            busy_s=budget.warm_s * share,
            limit_s=budget.warm_limit_s,
            check=bench.check,
            tell=partial(self._told, cell),
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
            ),
        )

    def _told(self, cell: TimedArm, per_call_s: float) -> None:
        """Let the screen see the warm-up, as seldom as it sees rounds."""
        self._warming.append(per_call_s)
        reporter = self._bench.reporter
        if reporter.due:
            reporter.say(self._warm_blocks(cell))
            reporter.settle()

    def _warm_blocks(self, cell: TimedArm) -> WarmUp:
        samples, self._warming = tuple(self._warming), []
        return WarmUp(run=self._bench.run, arm=cell.arm.id, point=cell.point, samples_s=samples)

    def _rounds(self) -> None:
        bench = self._bench
        if bench.context.machine.gpus and not bench.rounds:
            bench.gpus = GpuWatch(buses(), (cell.device for cell in self._cells))
        try:
            bench.progress("measuring", 0.0, self._limit_s, "s")
            Rounds(bench, self._cells, self._limit_s, self._drop).run()
        finally:
            for cell in [cell for cell in self._cells if cell.samples]:
                bench.flag(caveats.of_cell(bench.run, cell, bench.request.budget, self._where))

    def _phases(self, cell: TimedArm) -> None:
        """The phases are an extra: where they cannot be had, the arm's figures stay."""
        bench = self._bench
        bench.progress("phases", arm=cell.arm.id)
        bench.reporter.settle()
        try:
            found = measure_phases(bench, cell)
        except (Exception, SystemExit) as error:
            bench.context.log(f"{cell.arm.id}: no phases: {type(error).__name__}: {error}", bench.run)
            return
        if found:
            bench.reporter.say(found)

    def _drop(self, cell: TimedArm, error: BaseException) -> None:
        self._cells.remove(cell)
        self._close(cell)
        self._trouble(cell.arm, error)

    def _trouble(self, arm: Arm, error: BaseException) -> None:
        if isinstance(error, Unavailable):
            status = unavailable(self._bench.run, arm.id, str(error), self._where)
        else:
            status = failed(self._bench.run, arm.id, error, self._where)
        self._troubles[arm.id] = status
        self._bench.reporter.say(status)

    def _close(self, cell: TimedArm) -> None:
        try:
            cell.case.close()
        except Exception as error:
            text = f"{cell.arm.id}: closing it raised {type(error).__name__}: {error}"
            self._bench.context.log(text, self._bench.run)
