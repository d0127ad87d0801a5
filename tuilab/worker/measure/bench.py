"""What every step of one run shares: the request, the arms being timed, the way out for events."""

import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from tuilab.analysis.caveats import Pressure
from tuilab.model.arms import Arm
from tuilab.model.events import Caveat, Event, Progress, Round, TurnOver
from tuilab.model.parameters import Values
from tuilab.model.requests import Measure
from tuilab.model.roofline import Work
from tuilab.model.run import RunState
from tuilab.model.scenario import Budget
from tuilab.worker.context import Context
from tuilab.worker.measure.counting import Counted
from tuilab.worker.measure.interference import Canary, GpuWatch
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.workloads.base import Case, Workload


@dataclass(frozen=True)
class Warmth:
    """How a warm-up ended: busy seconds, calls made, whether the pace was steady in the end, and at once."""

    seconds: float
    calls: int
    warm: bool
    at_once: bool = False


@dataclass
class TimedArm:
    """What is timed, how many calls make a block of it, and its figures so far.

    device: the one that computed, as observed. ops: TensorFlow ops in one call; host_ops: those among them
    that ran on the CPU although another device computed. calls: in a block. call_s: seconds of one call, as
    last seen. visit_s: seconds that its last turn took in all. counted: what the ops of a call of a
    person's code have to do; of_graph: likewise of a model's graph. work: as
    it was reported. samples: seconds per call, one a block.
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
        """Seconds that its next turn should take, with the scope, the lead-in and the single call."""
        return self.visit_s or self.call_s * (self.calls + (2 if self.calls > 1 else 0))


EVERY_S = 0.25
PAINT_S = 0.25


class Reporter:
    """Holds rounds back until it is time, and waits for the screen where they share processors.

    pace: after something was said, `settle` waits for the screen to have painted it, 0.25 s at most.
    state: the run as everyone else sees it, folded from what was said. holding: nothing leaves meanwhile.
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
        """Say them now, with whatever was held back before."""
        for event in events:
            self._hold(event)
        self.flush()

    def round(self, event: Round) -> bool:
        """Hold a round until a quarter of a second has passed since the last report; True when it left."""
        self._hold(event)
        due = self.due
        if due:
            self.flush()
        return due

    @property
    def due(self) -> bool:
        """Whether a quarter of a second has passed since the last report."""
        return self._clock() - self._said >= EVERY_S

    def _hold(self, event: Event) -> None:
        self._held.append(event)
        self.state.apply(event)

    def flush(self) -> None:
        """Send what is held."""
        if not self._held or self.holding:
            return
        self._context.painted.clear()
        self._context.send(*self._held)
        self._held.clear()
        self._said, self._unpainted = self._clock(), True

    def settle(self) -> None:
        """Let the screen finish painting what was last said, before timing."""
        if self._pace and self._unpainted and self._context.watched:
            self._context.painted.wait(PAINT_S)
        self._unpainted = False


def is_short(request: Measure) -> bool:
    """Return whether a process is a further one of a run whose further ones are short."""
    return request.worker > 0 and request.budget.further_s > 0


@dataclass
class Bench:
    """The request, what it is carried out with, and how far the run's rounds have come.

    values: of every parameter, checked. rounds, elapsed_s: of all points together. pressures: one a point.
    disturbed: rounds kept although the canary had moved.
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
    stopwatches: Mapping[str, Stopwatch] = field(default_factory=dict)
    """By device: each waits for that one alone."""

    def stopwatch_of(self, cell: TimedArm) -> Stopwatch:
        """Return the stopwatch that waits for the arm's own device, not for others' work on the next."""
        return self.stopwatches.get(cell.arm.device, self.stopwatch)

    @property
    def run(self) -> str:
        """The run's id."""
        return self.request.id

    @property
    def budget(self) -> Budget:
        """What this process is to do of the run's budget."""
        return self.request.budget.of_process(self.request.worker)

    @property
    def short(self) -> bool:
        """Whether this is a further process that only adds an observation."""
        return is_short(self.request)

    @property
    def state(self) -> RunState:
        """The run as everyone else sees it."""
        return self.reporter.state

    def ran(self, arm: str) -> bool:
        """Return whether the arm was seen to compute anywhere in this run."""
        known = self.state.arms.get(arm)
        return known is not None and known.device is not None

    def check(self) -> None:
        """Raise Cancelled where a stop was asked for."""
        self.context.check(self.request.id)

    def wait_for_turn(self) -> None:
        """Let the other workers of the run have theirs. Raises Cancelled if a stop was asked for."""
        turn = self.context.turn
        turn.clear()
        self.check()
        self.reporter.say(TurnOver(run=self.run))
        turn.wait()
        self.check()

    def wait_prepared(self) -> None:
        """Let the other processes of the run prepare and measure, where it is asked to wait for its turn.

        Raises Cancelled if a stop was asked for.
        """
        if not self.reporter.holding:
            return
        turn = self.context.turn
        turn.clear()
        self.check()
        self.context.send(TurnOver(run=self.run))
        turn.wait()
        self.context.keep(self.request, turn=True)
        self.reporter.holding = False
        self.check()

    def progress(
        self, stage: str, done: float = 0.0, total: float = 0.0, unit: str = "", arm: str = ""
    ) -> None:
        """Describe what the run does now; also if a stop is obeyed."""
        self.check()
        self.reporter.say(Progress(run=self.run, stage=stage, done=done, total=total, unit=unit, arm=arm))

    def flag(self, flags: Iterable[Caveat]) -> None:
        """Say doubts; of a run of several processes, in which of them they arose."""
        request = self.request
        several = request.worker > 0 or (request.budget.workers > 1 and not request.budget.further_s)
        for flag in flags:
            words = f"process {request.worker + 1}: {flag.message}"
            self.reporter.say(msgspec.structs.replace(flag, message=words) if several else flag)
