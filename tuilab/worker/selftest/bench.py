"""Sets up the engine to test itself, with a real clock and real rounds but without reports."""

import random
import time
from collections.abc import Callable, Sequence
from typing import cast

from tuilab.model.arms import Arm
from tuilab.model.events import Event
from tuilab.model.requests import Measure
from tuilab.model.scenario import Budget, Scenario
from tuilab.model.workload import Declaration
from tuilab.worker.channel import Channel
from tuilab.worker.context import Context
from tuilab.worker.measure.bench import Bench, Reporter, TimedArm
from tuilab.worker.measure.interference import Canary
from tuilab.worker.measure.rounds import RoundRobin
from tuilab.worker.measure.stopwatch import Stopwatch, sync_of
from tuilab.workloads.base import Case, Workload

NOTHING = Workload(
    Declaration(name="selftest", title="Self-test", summary="", unit="call", parameters=()),
    lambda build: Case(call=lambda: None),
)


class _Silence:
    def send(self, event: Event) -> None:
        """Discard events, because nobody listens to the rounds of a self-test."""


def spin(seconds: float) -> None:
    """Busy-wait for `seconds`, measured with the same clock that times blocks."""
    until = time.perf_counter_ns() + round(seconds * 1e9)
    while time.perf_counter_ns() < until:
        pass


def bench(context: Context, rounds: int, limit_s: float, seed: int = 1) -> Bench:
    """Return a bench for arms on the processor. Runs end after `rounds` rounds or at the time limit."""
    budget = Budget(
        name="quick", warm_s=0.0, warm_limit_s=0.0, precision=float("inf"), rounds=rounds, limit_s=limit_s
    )
    silent = Context(cast(Channel, _Silence()))
    silent.tf, silent.machine = context.tf, context.machine
    stopwatch = Stopwatch(sync_of(context.tf, "CPU:0"))
    return Bench(
        context=silent,
        request=Measure(id="", scenario=Scenario("selftest", {}), arms=(), budget=budget, latency=False),
        workload=NOTHING,
        values={},
        stopwatch=stopwatch,
        reporter=Reporter(silent),
        random=random.Random(seed),
        canary=Canary(stopwatch.now),
    )


def cell(name: str, call: Callable[[], object], calls: int, call_s: float) -> TimedArm:
    return TimedArm(Arm("CPU:0", "eager", variant=name), 0, Case(call=call), calls=calls, call_s=call_s)


def by_round(bench: Bench, cells: Sequence[TimedArm]) -> list[dict[int, float]]:
    """Measure the arms; return each arm's seconds per call, by round."""
    for one in cells:
        one.samples.clear()
    budget = bench.request.budget
    RoundRobin(bench, cells, budget.limit_s, _raise).run()
    return [dict(enumerate(one.samples)) for one in cells]


def _raise(cell: TimedArm, error: BaseException) -> None:
    raise error
