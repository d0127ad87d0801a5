"""Runs on a fleet: a sweep that is spread over nodes, or many runs in parallel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuilab.analysis.sweeps import MOST_ADDED, size_to_add
from tuilab.fleet.grid import Grid
from tuilab.fleet.jobs import Job, common_devices, job_of, lacks
from tuilab.fleet.merge import SweepRun
from tuilab.fleet.messages import RESOURCE, JobResult
from tuilab.fleet.scheduler import NodeSlot, Progress, Scheduler
from tuilab.model import events as e
from tuilab.model.errors import WorkerError
from tuilab.model.machine import Machine
from tuilab.model.points import grid as points_of
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.sanitize import sanitize

Listener = Callable[[e.Event], None]
NOBODY = (
    "no node can measure: on each machine, install tuilab[fleet] and run `dask worker ADDRESS --resources "
    f"{RESOURCE}=1`"
)


@dataclass
class FleetSweep:
    grid: Grid
    plan: Callable[[Sequence[str]], Measure]
    families: Sequence[str]
    nearest: Callable[[float], int]
    on_event: Listener
    say: Callable[[Progress], None]
    patience_s: float = 60.0

    def __post_init__(self) -> None:
        self.state = RunState()
        self._spread = Scheduler(self.grid, self.families, self._taken, self.say, patience_s=self.patience_s)
        self._record: SweepRun | None = None

    async def run(self) -> None:
        """Measure all points, and further points around a crossover. Raises WorkerError if no node can
        measure.
        """
        machines = await self._spread.machines()
        fit = [machine for machine in machines if not lacks(machine, self.families, machines)]
        if not fit:
            await self._spread.close()
            raise WorkerError("stopped before it started" if self._spread.stopping else NOBODY)
        request = self.plan(common_devices(fit))
        points = points_of(request.sweep)
        self._record = SweepRun(request, self._heard)
        self._record.begin(fit[0], points)
        problem = ""
        try:
            await self._spread.run([job_of(request, point) for point in points])
            if request.sweep is not None and request.sweep.refine:
                await self._refine(request, len(points))
        except WorkerError as error:
            problem = str(error)
        self._end(problem)
        await self._spread.close()

    async def stop(self) -> None:
        await self._spread.stop()

    async def _refine(self, request: Measure, count: int) -> None:
        assert self._record is not None and request.sweep is not None
        axis = request.sweep.axes[0].parameter
        for index in range(count, count + MOST_ADDED):
            size = None if self._spread.stopping else size_to_add(self.state, self.nearest)
            if size is None:
                return
            point = e.Point(index, {axis: size})
            self._record.add(point)
            await self._spread.run([job_of(request, point)])

    def _end(self, problem: str) -> None:
        assert self._record is not None
        for point, reason in self._spread.failed.items():
            self._record.lose(point, reason)
        lost = len(self._spread.failed)
        if self._spread.stopping:
            self._record.finish("cancelled", "stopped by request")
        elif problem or (lost and not self.state.rounds):
            self._record.finish("failed", problem or next(iter(self._spread.failed.values())))
        else:
            self._record.finish(
                "ok", f"{lost} of {self._spread.total} sizes were not measured" if lost else ""
            )

    def _taken(self, cell: Job, hand: NodeSlot, visit: JobResult) -> None:
        assert self._record is not None and hand.machine is not None
        self._record.take(cell.key, hand.label, hand.machine, visit)

    def _heard(self, event: e.Event) -> None:
        self.state.apply(event)
        self.on_event(event)


@dataclass
class FleetRuns:
    grid: Grid
    plans: Sequence[tuple[str, Callable[[Machine], Measure]]]
    families: Sequence[str]
    on_event: Listener
    measured: Callable[[int, RunState], None]
    say: Callable[[Progress], None]
    patience_s: float = 60.0

    def __post_init__(self) -> None:
        self._spread = Scheduler(self.grid, self.families, self._taken, self.say, patience_s=self.patience_s)

    @property
    def failed(self) -> dict[int, str]:
        return self._spread.failed

    async def run(self) -> None:
        if not await self._spread.machines():
            await self._spread.close()
            raise WorkerError("stopped before it started" if self._spread.stopping else NOBODY)
        try:
            await self._spread.run(
                [Job(name=name, make=make, key=key) for key, (name, make) in enumerate(self.plans)]
            )
        finally:
            await self._spread.close()

    async def stop(self) -> None:
        await self._spread.stop()

    def _taken(self, cell: Job, hand: NodeSlot, visit: JobResult) -> None:
        state = RunState()
        for raw in visit.events:
            event = sanitize(e.decode(bytes(raw)))
            state.apply(event)
            self.on_event(event)
        self.measured(cell.key, state)
