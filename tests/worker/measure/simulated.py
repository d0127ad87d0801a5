"""Runs the engine without TensorFlow, with arms of known speed and a clock that advances only during
calls.
"""

import random
from collections.abc import Callable

from tuilab.model.arms import Arm
from tuilab.model.events import Event
from tuilab.model.requests import Measure
from tuilab.model.scenario import Budget, Scenario
from tuilab.model.workload import Declaration
from tuilab.worker.context import Context
from tuilab.worker.measure.bench import Bench, Reporter, TimedArm
from tuilab.worker.measure.interference import Canary
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.workloads.base import Case, Workload

QUICK = Budget(name="quick", warm_s=0.3, warm_limit_s=3.0, precision=0.05, rounds=20, limit_s=6.0)
SYNC_S = 20e-6


class Clock:
    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns

    def spend(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)


class Channel:
    def __init__(self, clock: Clock) -> None:
        self.events: list[Event] = []
        self.times: list[float] = []
        self._clock = clock

    def send(self, event: Event) -> None:
        self.events.append(event)
        self.times.append(self._clock.ns * 1e-9)

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]


class Simulation:
    """A bench with simulated time. song_s: returns the seconds that the canary's computation takes at a given
    time.
    """

    def __init__(
        self, budget: Budget = QUICK, song_s: Callable[[float], float] = lambda now: 50e-6, **request: object
    ) -> None:
        self.clock = Clock()
        self.channel = Channel(self.clock)
        context = Context(self.channel)  # type: ignore[arg-type]
        stopwatch = Stopwatch(lambda: self.clock.spend(SYNC_S), self.clock)
        declaration = Declaration(name="simulated", title="", summary="", unit="call", parameters=())
        seed = request.pop("seed", 1)
        self.bench = Bench(
            context=context,
            request=Measure(id="r", scenario=Scenario("simulated", {}), arms=(), budget=budget, **request),  # type: ignore[arg-type]
            workload=Workload(declaration, lambda build: Case(call=lambda: None)),
            values={},
            stopwatch=stopwatch,
            reporter=Reporter(context, clock=stopwatch.now),
            random=random.Random(seed),  # type: ignore[arg-type]
            canary=Canary(stopwatch.now, lambda: self.clock.spend(song_s(self.now))),
        )

    @property
    def now(self) -> float:
        return self.clock.ns * 1e-9

    def cell(self, name: str, seconds: float | Callable[[], float], calls: int = 1) -> TimedArm:
        draw = seconds if callable(seconds) else lambda: seconds
        first = draw()
        case = Case(call=lambda: self.clock.spend(draw()))
        return TimedArm(Arm("CPU:0", "eager", variant=name), 0, case, calls=calls, call_s=first)


def noisy(seconds: float, spread: float, seed: int = 0) -> Callable[[], float]:
    """Return a function that draws log-normally distributed seconds around a median."""
    rng = random.Random(seed)
    return lambda: seconds * 2.718281828 ** rng.gauss(0.0, spread)
