"""Runs on a fleet: a sweep that is spread over nodes, or many runs in parallel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuilab.analysis.sweeps import MOST_ADDED, size_to_add
from tuilab.fleet.grid import Grid
from tuilab.fleet.jobs import Job, common_devices, job_of, lacks
from tuilab.fleet.merge import SweepRun
from tuilab.fleet.messages import RESOURCE, JobResult
from tuilab.fleet.scheduler import PATIENCE_S, NodeSlot, Progress, Scheduler
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


@dataclass(kw_only=True)
class FleetWork:
    """Work on the nodes of a grid. families: the device families that the work needs."""

    grid: Grid
    families: Sequence[str]
    on_event: Listener
    say: Callable[[Progress], None]
    patience_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        self._spread = Scheduler(self.grid, self.families, self._taken, self.say, patience_s=self.patience_s)

    async def run(self) -> None:
        """Run to completion. Raises WorkerError if no node can measure."""
        try:
            machines = await self._spread.machines()
            fit = [machine for machine in machines if not lacks(machine, self.families, machines)]
            if not fit:
                raise WorkerError("stopped before it started" if self._spread.stopping else NOBODY)
            await self._run(fit)
        finally:
            await self._spread.close()

    async def stop(self) -> None:
        """Request a stop without waiting for it."""
        await self._spread.stop()

    async def _run(self, machines: Sequence[Machine]) -> None:
        raise NotImplementedError

    def _taken(self, cell: Job, hand: NodeSlot, visit: JobResult) -> None:
        raise NotImplementedError


@dataclass(kw_only=True)
class FleetSweep(FleetWork):
    plan: Callable[[Sequence[str]], Measure]
    nearest: Callable[[float], int]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.state = RunState()
        self._record: SweepRun | None = None

    async def _run(self, machines: Sequence[Machine]) -> None:
        """Measure all points, and further points around a crossover."""
        request = self.plan(common_devices(machines))
        points = points_of(request.sweep)
        self._record = SweepRun(request, self._heard)
        self._record.begin(machines[0], points)
        problem = ""
        try:
            await self._spread.run([job_of(request, point) for point in points])
            if request.sweep is not None and request.sweep.refine:
                await self._refine(request, len(points))
        except WorkerError as error:
            problem = str(error)
        self._end(problem)

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


@dataclass(kw_only=True)
class FleetRuns(FleetWork):
    plans: Sequence[tuple[str, Callable[[Machine], Measure]]]
    measured: Callable[[int, RunState], None]

    @property
    def failed(self) -> dict[int, str]:
        return self._spread.failed

    async def _run(self, machines: Sequence[Machine]) -> None:
        await self._spread.run(
            [Job(name=name, make=make, key=key) for key, (name, make) in enumerate(self.plans)]
        )

    def _taken(self, cell: Job, hand: NodeSlot, visit: JobResult) -> None:
        state = RunState()
        for raw in visit.events:
            event = sanitize(e.decode(bytes(raw)))
            state.apply(event)
            self.on_event(event)
        self.measured(cell.key, state)
