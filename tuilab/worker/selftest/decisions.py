"""Checks that the engine reports no difference between equal arms, finds a slowdown of 5% and detects a
drift.
"""

import math
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import NormalDist

from tuilab.analysis.caveats import movement
from tuilab.analysis.ratios import RatioEstimate, ratio
from tuilab.analysis.words import percent
from tuilab.model.quantity import seconds
from tuilab.model.selftest import Check
from tuilab.worker.context import Context
from tuilab.worker.measure.bench import Bench, TimedArm
from tuilab.worker.selftest.bench import bench, by_round, cell, spin

ROUNDS, SIDE, BLOCK_S = 20, 128, 1e-3
FALSE_ALARMS, FOUND, SLOWER = 0.05, 0.90, 0.05
CHANCE = 0.99
TOLD = 0.02
GROWTH = 0.06


def allowed(rate: float, runs: int, known_from: float = math.inf) -> int:
    """Return how many of `runs` runs may show an event of probability `rate` by chance (99th percentile).

    known_from: number of trials from which the rate was estimated. Uses the normal approximation to the
    binomial distribution with continuity correction. Without this allowance, a true rate of 5% would fail
    every other time.
    """
    spread = math.sqrt(runs * rate * (1 - rate) * (1 + runs / known_from))
    return math.ceil(runs * rate + NormalDist().inv_cdf(CHANCE) * spread + 0.5) - 1


@dataclass
class Noise:
    """The machine's noise, from runs that compare a call with itself.

    runs: seconds per call of both sides, by round. run_s: seconds per run.
    """

    runs: list[tuple[dict[int, float], dict[int, float]]] = field(default_factory=list)
    run_s: float = 0.0

    def least(self) -> float | None:
        """Return the smallest difference that nine of ten runs on this machine would detect, as the median of
        the recorded runs' estimates.
        """
        found = [estimate.least for a, b in self.runs if (estimate := ratio(a, b)) is not None]
        known = [least for least in found if least is not None]
        return statistics.median(known) if known else None

    def detection_rate(self, difference: float) -> float | None:
        if not self.runs:
            return None
        made = [({i: s * (1 + difference) for i, s in a.items()}, b) for a, b in self.runs]
        found = [ratio(a, b) for a, b in made]
        return sum(estimate is not None and estimate.is_slower for estimate in found) / len(made)

    def seconds_for(self, difference: float) -> float | None:
        """Return the seconds that a run needs to detect `difference`. Noise falls with the square root of the
        duration.
        """
        least = self.least()
        return None if least is None else self.run_s * max(1.0, (least / difference) ** 2)


def noise_of(context: Context, runs: int) -> Noise:
    own, call, calls, call_s = _prepare(context)
    begun, noise = own.stopwatch.now(), Noise()
    for _ in range(runs):
        a, b = by_round(own, [cell("a", call, calls, call_s), cell("b", call, calls, call_s)])
        noise.runs.append((a, b))
    noise.run_s = (own.stopwatch.now() - begun) / runs
    return noise


def same_against_same(context: Context, noise: Noise, *, long: bool) -> Check:
    """Check how often a TensorFlow call is judged different from itself. Stores the runs in `noise`."""
    runs = 1_000 if long else 200
    made = noise_of(context, runs)
    noise.runs, noise.run_s = made.runs, made.run_s
    found = [estimate for a, b in noise.runs if (estimate := ratio(a, b)) is not None]
    wrong = sum(estimate.differs for estimate in found)
    most = allowed(FALSE_ALARMS, runs)
    return Check(
        name="a-a",
        figure=wrong / runs,
        limit=f"≤ 5%; chance allows up to {most} of {runs}",
        passed=wrong <= most,
        message=f"an arm compared with itself was reported as different in {wrong} of {runs} runs",
    )


def slowdown(context: Context, noise: Noise, *, long: bool) -> Check:
    """Check how often a call with 5% added as a busy-wait is judged slower than the call alone.

    The detection rate depends on the machine's noise. The expected rate comes from the runs that compare the
    call with itself, with 5% added to one side of each. The check fails only if the engine detects the
    slowdown less often than expected.
    """
    runs = 400 if long else 100
    own, call, calls, call_s = _prepare(context)

    def slower() -> None:
        call()
        spin(SLOWER * call_s)

    found = [
        _compare(own, cell("b", slower, calls, call_s), cell("a", call, calls, call_s)) for _ in range(runs)
    ]
    hits = sum(estimate.is_slower for estimate in found)
    middle = statistics.median(estimate.ratio for estimate in found)
    expected = noise.detection_rate(SLOWER)
    fewest = wanted(expected, runs, len(noise.runs))
    message = (
        f"5% more work was detected in {hits} of {runs} runs, with a median estimate of {percent(middle - 1)}"
    )
    if expected is not None and expected < FOUND:
        message += f"; with this machine's noise, {percent(expected)} of the runs can detect it"
    return Check(
        name="slowdown",
        figure=hits / runs,
        limit=f"≥ {percent(fewest / runs)}"
        + ("" if fewest == FOUND * runs else ", limited by the noise on this machine"),
        passed=hits >= fewest,
        message=message,
    )


def resolution(noise: Noise) -> Check | None:
    """Report the smallest difference detectable on this machine. Always passes, because it tests no code."""
    least, seconds_s = noise.least(), noise.seconds_for(TOLD)
    if least is None or seconds_s is None:
        return None
    return Check(
        name="least-difference",
        figure=least,
        limit="none: it depends on the machine",
        passed=True,
        message=(
            f"a run of {ROUNDS} rounds ({seconds(noise.run_s)}) detects a difference of {percent(least)} "
            f"in nine of ten runs on this machine; detecting {percent(TOLD)} takes about {seconds(seconds_s)}"
        ),
    )


def wanted(expected: float | None, runs: int, known_from: int) -> float:
    """Return how many of `runs` runs must detect the difference: nine of ten, or fewer on a noisy machine.

    expected: share of runs that can detect the difference, estimated from `known_from` runs with the same
    noise.
    """
    if expected is None or not known_from:
        return FOUND * runs
    return min(FOUND * runs, runs - allowed(1 - expected, runs, known_from))


def drifting(context: Context, *, long: bool) -> Check:
    """Check that drift is detected in spins that grow by 6% over a run, and not in spins of constant length.

    The detection rate depends on the machine: the expected rate comes from the steady spins, to which the
    growth is added afterwards. If the machine's speed varies, steady spins slow down as often as they speed
    up. If the engine slowed itself down, the steady spins would mostly slow down.
    """
    runs, rounds = (200 if long else 40), 40
    own = bench(context, rounds=rounds, limit_s=30.0)
    found = expected = 0
    moved: Counter[bool] = Counter()
    for _ in range(runs):
        made = [0]

        def growing(made: list[int] = made) -> None:
            made[0] += 1
            spin(BLOCK_S / 2 * (1 + GROWTH * made[0] / (2 * rounds)))

        cells = [
            cell("grows", growing, 2, BLOCK_S / 2),
            cell("steady", lambda: spin(BLOCK_S / 2), 2, BLOCK_S / 2),
        ]
        by_round(own, cells)
        steady = list(cells[1].samples)
        grown = [s * (1 + GROWTH * i / len(steady)) for i, s in enumerate(steady, 1)]
        found += movement(cells[0].samples) is not None
        expected += movement(grown) is not None
        if (drifted := movement(steady)) is not None:
            moved[drifted[0] > 0] += 1
    fewest, most = wanted(expected / runs, runs, runs), allowed(FALSE_ALARMS, runs)
    message = f"a drift of {percent(GROWTH)} was detected in {found} of {runs} runs"
    if fewest < FOUND * runs:
        message += f"; with this machine's noise, {expected} runs can detect it"
    message += f"; a steady pace was flagged as slower in {moved[True]} runs and as faster in {moved[False]}"
    return Check(
        name="drift",
        figure=found / runs,
        limit=f"≥ {percent(fewest / runs)}, a steady pace flagged in at most {most} of {runs}",
        passed=found >= fewest and max(moved.values(), default=0) <= most,
        message=message,
    )


def _prepare(context: Context) -> tuple[Bench, Callable[[], object], int, float]:
    """Return a bench, a TensorFlow call, the number of calls in a short block, and seconds per call."""
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
    assert found is not None  # both arms were timed in every round
    return found
