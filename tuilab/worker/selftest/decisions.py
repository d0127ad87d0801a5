"""Does the engine call equal things equal, find a slowdown of 5 %, and notice a drift?"""

import math
import statistics
from collections.abc import Callable
from statistics import NormalDist

from tuilab.analysis.caveats import drift
from tuilab.analysis.ratios import RatioEstimate, ratio
from tuilab.analysis.words import percent
from tuilab.model.selftest import Check
from tuilab.worker.context import Context
from tuilab.worker.measure.bench import Bench, TimedArm
from tuilab.worker.selftest.bench import bench, by_round, cell, spin

ROUNDS, SIDE, BLOCK_S = 20, 128, 1e-3
FALSE_ALARMS, FOUND, SLOWER = 0.05, 0.90, 0.05
CHANCE = 0.99


def allowed(rate: float, runs: int) -> int:
    """How many of `runs` an event of that probability reaches by chance in 99 of 100 cases.

    Normal approximation to the binomial with continuity correction; a true rate of 5 % would otherwise fail
    every other time.
    """
    spread = math.sqrt(runs * rate * (1 - rate))
    return math.ceil(runs * rate + NormalDist().inv_cdf(CHANCE) * spread + 0.5) - 1


def same_against_same(context: Context, *, long: bool) -> Check:
    """One TensorFlow call against itself: how often the two are called different."""
    runs = 1_000 if long else 200
    own, call, calls, call_s = _prepared(context)
    found = [
        _compare(own, cell("a", call, calls, call_s), cell("b", call, calls, call_s)) for _ in range(runs)
    ]
    wrong = sum(estimate.differs for estimate in found)
    most = allowed(FALSE_ALARMS, runs)
    return Check(
        name="a-a",
        figure=wrong / runs,
        limit=f"≤ 5 %, by chance up to {most} of {runs}",
        passed=wrong <= most,
        message=f"the same call against itself was called different in {wrong} of {runs} runs",
    )


def slowdown(context: Context, *, long: bool) -> Check:
    """The call against itself with 5 % of its time spun away after it."""
    runs = 400 if long else 100
    own, call, calls, call_s = _prepared(context)

    def slower() -> None:
        call()
        spin(SLOWER * call_s)

    found = [
        _compare(own, cell("b", slower, calls, call_s), cell("a", call, calls, call_s)) for _ in range(runs)
    ]
    hits = sum(estimate.is_slower for estimate in found)
    middle = statistics.median(estimate.ratio for estimate in found)
    return Check(
        name="slowdown",
        figure=hits / runs,
        limit="≥ 90 %",
        passed=hits >= FOUND * runs,
        message=f"5 % more work was found in {hits} of {runs} runs, as {percent(middle - 1)} in the median",
    )


def drifting(context: Context, *, long: bool) -> Check:
    """Spins that grow by 6 % over a run, and steady ones."""
    runs, rounds = (100 if long else 20), 40
    own = bench(context, rounds=rounds, limit_s=30.0)
    found = alarms = 0
    for _ in range(runs):
        made = [0]

        def growing(made: list[int] = made) -> None:
            made[0] += 1
            spin(BLOCK_S / 2 * (1 + 0.06 * made[0] / (2 * rounds)))

        cells = [
            cell("grows", growing, 2, BLOCK_S / 2),
            cell("steady", lambda: spin(BLOCK_S / 2), 2, BLOCK_S / 2),
        ]
        by_round(own, cells)
        found += drift(cells[0].samples) is not None
        alarms += drift(cells[1].samples) is not None
    most = allowed(FALSE_ALARMS, runs)
    return Check(
        name="drift",
        figure=found / runs,
        limit=f"≥ 90 %, false alarms in at most {most} of {runs}",
        passed=found >= FOUND * runs and alarms <= most,
        message=f"a drift of 6 % raised its flag in {found} of {runs} runs, a steady pace in {alarms}",
    )


def _prepared(context: Context) -> tuple[Bench, Callable[[], object], int, float]:
    """A bench, a TensorFlow call, how many of it fill a short block, and its seconds."""
    tf, own = context.tf, bench(context, rounds=ROUNDS, limit_s=30.0)
    with tf.device("/CPU:0"):
        matrix = tf.random.normal((SIDE, SIDE), seed=1)
        product = tf.function(lambda m: tf.matmul(m, m), autograph=False)

    def call() -> object:
        return product(matrix)

    for _ in range(200):
        call()
    call_s = statistics.median(own.stopwatch.time(call) for _ in range(200))
    return own, call, max(1, round(BLOCK_S / call_s)), call_s


def _compare(own: Bench, first: TimedArm, second: TimedArm) -> RatioEstimate:
    a, b = by_round(own, [first, second])
    found = ratio(a, b)
    assert found is not None  # both have every round
    return found
