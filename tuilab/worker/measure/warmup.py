"""Warms an arm up: calls it until its timings are steady and a block is long enough."""

import math
import statistics
from collections.abc import Callable, Sequence

from tuilab.model.scenario import SETTLED_WARM_S
from tuilab.worker.measure.bench import TimedArm, Warmth
from tuilab.worker.measure.stopwatch import Stopwatch

MEAN_TOLERANCE = 0.10
QUARTILE_TOLERANCE = 0.05
MIN_WINDOW = 4


def agree(earlier: Sequence[float], later: Sequence[float]) -> bool:
    """Return True if two windows of seconds per call have similar means and quartiles.

    Uses pyperf's test for the end of warm-up (`calibrate_warmups`). That test allows the earlier mean to be
    up to 50% *lower*; here it is 10% either way, because an arm that is still slowing down is not steady
    either. Quartiles use linear interpolation.
    """
    means = [statistics.fmean(window) for window in (earlier, later)]
    firsts, _, thirds = zip(*(statistics.quantiles(w, n=4, method="inclusive") for w in (earlier, later)))
    tolerances = ((means, MEAN_TOLERANCE), (firsts, QUARTILE_TOLERANCE), (thirds, QUARTILE_TOLERANCE))
    return all(abs(before - after) <= most * after for (before, after), most in tolerances)


WINDOW = 200
LAST = 5
FIRST, AT_ONCE = 8, 0.05
MAD, MEDIAN_ERROR = 1.4826, 1.2533
"""Two ratios of a normal distribution: its standard deviation to its median absolute deviation, and the
standard error of the median to the standard error of the mean.
"""


def warm_up(
    cell: TimedArm,
    stopwatch: Stopwatch,
    *,
    busy_s: float,
    limit_s: float,
    check: Callable[[], None],
    tell: Callable[[float], None] = lambda per_call_s: None,
    settles_in: int = 0,
) -> Warmth:
    """Call the arm until it has been busy for `busy_s` and its timings are steady, or until `limit_s` is
    over.

    Doubles the calls per block until a block is long enough. The second call counts as the first sample
    (`cell.call_s`). So a call longer than `busy_s` runs here at least once, for comparison with the second
    call. A call longer than `limit_s` does not run here, because nobody wants to wait for ten calls of five
    seconds. tell: receives the seconds per call of every block. settles_in: number of calls after which the
    arm is known to be steady; 0 if that number is unknown and only the timings can show it. Raises the errors
    of `check`, `tell` and the call.
    """
    begun, second_s = stopwatch.now(), cell.call_s
    samples, visits, calls, warm = [second_s], [second_s], 1, False
    early = 0  # number of samples taken before the warm-up's minimum time
    while stopwatch.now() - begun + visits[-1] <= limit_s:
        check()
        started = stopwatch.now()
        block = stopwatch.block(cell.case, cell.calls)
        ended = stopwatch.now()
        calls += cell.calls
        tell(block / cell.calls)
        if block < stopwatch.block_s:
            cell.calls *= 2
            visits = [ended - started]
            continue
        samples.append(block / cell.calls)
        visits.append(ended - started)
        early += second_s + started - begun < SETTLED_WARM_S
        if second_s + ended - begun >= busy_s and (
            calls >= settles_in if settles_in else steady(samples, visits[-1], limit_s)
        ):
            warm = True
            break
    if settles_in and not warm:  # `settles_in` calls would have exceeded the time limit
        warm = steady(samples, visits[-1], limit_s)
    # Use several blocks, because any single block may have been interrupted. These times determine how often
    # each arm gets a turn.
    cell.call_s, cell.visit_s = (statistics.median(figures[-LAST:]) for figures in (samples, visits))
    return Warmth(second_s + stopwatch.now() - begun, calls, warm, at_once(samples[1 + early :]))


def at_once(samples: Sequence[float]) -> bool:
    """Return True if the first calls were as fast as the last calls; False while there are too few samples.

    Compares the medians of the first eight samples and of the last half. They must agree within 5%, or within
    twice their standard error, estimated from the scatter of the last half. samples: seconds per call.
    """
    if len(samples) < 2 * FIRST:
        return False
    first, later = (
        [math.log(max(s, 1e-12)) for s in part] for part in (samples[:FIRST], samples[len(samples) // 2 :])
    )
    middle = statistics.median(later)
    scatter = MAD * statistics.median(abs(log - middle) for log in later)
    error = MEDIAN_ERROR * scatter * math.sqrt(1 / len(first) + 1 / len(later))
    return abs(statistics.median(first) - middle) <= max(AT_ONCE, 2 * error)


def steady(samples: Sequence[float], visit_s: float, limit_s: float) -> bool:
    """Return True if the last two windows of samples agree. samples: seconds per call.

    A window is a third of all samples, 4 to 200, because short windows would miss a slow but long drift. If
    two windows of four blocks (`visit_s` each) would not fit into the limit, the last two samples must agree
    within 10%.
    """
    if len(samples) >= 2 * MIN_WINDOW:
        size = max(MIN_WINDOW, min(WINDOW, len(samples) // 3))
        return agree(samples[-2 * size : -size], samples[-size:])
    if len(samples) < 2 or 2 * MIN_WINDOW * visit_s <= limit_s:
        return False
    return abs(samples[-2] / samples[-1] - 1) <= MEAN_TOLERANCE
