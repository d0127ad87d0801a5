"""State shared by the steps of a run: the request, the arms being timed, the outgoing events."""

import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tuilab.analysis.caveats import Pressure
from tuilab.model.arms import Arm
from tuilab.model.events import Caveat, Event, Progress, Round
from tuilab.model.found import Found
from tuilab.model.parameters import Values
from tuilab.model.requests import Measure
from tuilab.model.roofline import Work
from tuilab.model.run import RunState
from tuilab.model.scenario import Budget
from tuilab.worker.context import Context
from tuilab.worker.measure.counting import Counted
from tuilab.worker.measure.interference import Canary, GpuWatch
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.worker.starts import Starts
from tuilab.worker.tracebacks import text_of
from tuilab.workloads.base import Case, Workload


@dataclass(frozen=True)
class Warmth:
    """The result of a warm-up.

    seconds: time spent in calls. warm: True if the timings were steady at the end. at_once: True if the
    timings were steady from the first call.
    """

    seconds: float
    calls: int
    warm: bool
    at_once: bool = False


@dataclass
class TimedArm:
    """An arm being timed, and its figures so far.

    device: the device that was observed to compute. ops: number of TensorFlow ops per call. host_ops: number
    of ops that ran on the CPU although another device computed. calls: number of calls per block. call_s:
    seconds per call, as last measured. visit_s: seconds of the arm's last turn. counted: work (FLOP and
    bytes) of the ops in a call of user code. of_graph: work of a model's graph. work: the work that was
    reported to the user. samples: seconds per call of each block.
    """

    arm: Arm
    point: int
    case: Case
    device: str = ""
    ops: int = 0
    host_ops: int = 0
    calls: int = 1
    call_s: float = 0.0
    visit_s: float = 0.0
    warmth: Warmth = Warmth(0.0, 0, False)
    counted: Counted | None = None
    of_graph: Counted | None = None
    work: Work | None = None
    samples: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    @property
    def cost_s(self) -> float:
        """Expected seconds of the arm's next turn: its block, the untimed call before the block, and a call
        that is timed on its own.
        """
        return self.visit_s or self.call_s * (self.calls + (2 if self.calls > 1 else 0))


EVERY_S = 0.25
PAINT_S = 0.25


class Reporter:
    """Collects rounds between reports, and lets the screen draw each report.

    pace: if True, `settle` waits until the screen has drawn the last report, at most 0.25 s. state: the run's
    state, built from the reported events. holding: True while events are only buffered.
    """

    def __init__(
        self, context: Context, *, pace: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._context, self._pace, self._clock = context, pace, clock
        self.state = RunState()
        self._held: list[Event] = []
        self.holding = False
        self._said = clock()
        self._unpainted = False

    def say(self, *events: Event) -> None:
        for event in events:
            self._hold(event)
        self.flush()

    def round(self, event: Round) -> bool:
        self._hold(event)
        due = self.due
        if due:
            self.flush()
        return due

    @property
    def due(self) -> bool:
        return self._clock() - self._said >= EVERY_S

    def _hold(self, event: Event) -> None:
        self._held.append(event)
        self.state.apply(event)

    def flush(self) -> None:
        if not self._held or self.holding:
            return
        self._context.painted.clear()
        self._context.send(*self._held)
        self._held.clear()
        self._said, self._unpainted = self._clock(), True

    def settle(self) -> None:
        """Before timing starts, wait until the screen has drawn the last report."""
        if self._pace and self._unpainted and self._context.watched:
            self._context.painted.wait(PAINT_S)
        self._unpainted = False


def is_short(request: Measure) -> bool:
    """Return True if this process is not the first of its run and the budget limits the time of further
    processes.
    """
    return request.worker > 0 and request.budget.further_s > 0


@dataclass
class Bench:
    """A run's request, its stopwatches and other tools, and the progress of its rounds.

    values: checked value of every parameter. rounds, elapsed_s: totals over all points. pressures: load by
    other processes, one entry per point. disturbed: number of accepted rounds during which the canary (see
    `interference`) showed a changed speed.
    """

    context: Context
    request: Measure
    workload: Workload
    values: Values
    stopwatch: Stopwatch
    reporter: Reporter
    random: random.Random
    canary: Canary
    rounds: int = 0
    elapsed_s: float = 0.0
    pressures: list[Pressure] = field(default_factory=list)
    disturbed: int = 0
    gpus: GpuWatch = field(default_factory=lambda: GpuWatch({}, ()))
    starts: Starts | None = None
    """Times no-op calls on the CPU between the rounds; None if no lower bound was requested."""
    stopwatches: Mapping[str, Stopwatch] = field(default_factory=dict)
    """One stopwatch per device, which waits only for that device."""

    def stopwatch_of(self, cell: TimedArm) -> Stopwatch:
        return self.stopwatches.get(cell.arm.device, self.stopwatch)

    @property
    def run(self) -> str:
        return self.request.id

    @property
    def budget(self) -> Budget:
        return self.request.budget.for_process(self.request.worker)

    @property
    def short(self) -> bool:
        return is_short(self.request)

    @property
    def state(self) -> RunState:
        return self.reporter.state

    def ran(self, arm: str) -> bool:
        known = self.state.arms.get(arm)
        return known is not None and known.device is not None

    def check(self) -> None:
        """Raise Cancelled if a stop was requested."""
        self.context.check(self.request.id)

    def wait_for_turn(self) -> None:
        self.reporter.flush()
        self.context.wait_turn(self.run)
        self.check()

    def wait_prepared(self) -> None:
        """If events are only buffered, wait for this process's turn while the run's other processes measure.

        Raises Cancelled if a stop was requested.
        """
        if not self.reporter.holding:
            return
        self.context.wait_turn(self.run)
        self.context.keep(self.request, turn=True)
        self.reporter.holding = False
        self.check()

    def progress(
        self, stage: str, done: float = 0.0, total: float = 0.0, unit: str = "", arm: str = ""
    ) -> None:
        """Report the run's current step. Raises Cancelled if a stop was requested."""
        self.check()
        self.reporter.say(Progress(run=self.run, stage=stage, done=done, total=total, unit=unit, arm=arm))

    def flag(self, found: Iterable[Found], arm: str = "", point: int | None = None) -> None:
        """Report caveats about the run, or about one arm."""
        request = self.request
        several = request.worker > 0 or (request.budget.workers > 1 and not request.budget.further_s)
        process = f"process {request.worker + 1}: " if several else ""
        for each in found:
            message = process + each.message
            self.reporter.say(Caveat(run=self.run, code=each.code, message=message, arm=arm, point=point))

    def log_error(self, arm: str, what: str, error: BaseException) -> None:
        """Log that something about an arm failed, as in `its work is unknown`."""
        self.context.log(f"{arm}: {what}: {type(error).__name__}: {text_of(error)}", self.run)
