"""Calls until the pace is steady and a block is long enough."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuilab.model.scenario import SETTLED_WARM_S
from tuilab.worker.measure.bench import TimedArm, Warmth
from tuilab.worker.measure.stopwatch import Stopwatch

MEAN_TOLERANCE = 0.10
QUARTILE_TOLERANCE = 0.05
MIN_WINDOW = 4


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far the earlier of two windows lies from the later one, as shares of the later: + is slower.

    Infinite where the later window's figure is 0 and the earlier one's is not.
    """

    mean: float
    first_quartile: float
    third_quartile: float

    @property
    def agrees(self) -> bool:
        """Means within 10% and both quartiles within 5%."""
        quartiles = max(abs(self.first_quartile), abs(self.third_quartile))
        return abs(self.mean) <= MEAN_TOLERANCE and quartiles <= QUARTILE_TOLERANCE


def agreement(earlier: Sequence[float], later: Sequence[float]) -> Agreement:
    """Hold two windows of seconds per call, each of at least four samples, against each other.

    The means and quartiles of pyperf's test for the end of warm-up (`calibrate_warmups`), which lets the
    earlier window's mean be up to 50% *lower*; here 10% either way, since a cell that still grows slower is
    not steady either. Quartiles by linear interpolation. Raises ValueError for a shorter window.
    """
    if min(len(earlier), len(later)) < MIN_WINDOW:
        raise ValueError(f"a window needs {MIN_WINDOW} samples, not {min(len(earlier), len(later))}")
    first, _, third = statistics.quantiles(earlier, n=4, method="inclusive")
    first_later, _, third_later = statistics.quantiles(later, n=4, method="inclusive")
    return Agreement(
        _off(statistics.fmean(earlier), statistics.fmean(later)),
        _off(first, first_later),
        _off(third, third_later),
    )


def settled(samples: Sequence[float], window: int | None = None) -> bool:
    """Return whether the last two windows of `window` samples agree; with no window, the two halves of all
    samples.

    False while there are too few samples.
    """
    size = window or len(samples) // 2
    if size < MIN_WINDOW or len(samples) < 2 * size:
        return False
    return agreement(samples[-2 * size : -size], samples[-size:]).agrees


def _off(earlier: float, later: float) -> float:
    if earlier == later:
        return 0.0
    return (earlier - later) / later if later else math.inf


WINDOW = 200
LAST = 5
FIRST, AT_ONCE = 8, 0.05
MAD, MEDIAN_ERROR = 1.4826, 1.2533
"""Of a normal distribution: its deviation over the median absolute one, a median's error over a mean's."""


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
    """Call the cell until it was at it for `busy_s` and its pace is steady, or for `limit_s`.

    The calls of a block double meanwhile until a block is long enough. The second call counts as the first
    sample (`cell.call_s`), so a call longer than `busy_s` is made once more here and compared with it, and
    one longer than `limit_s` is not made at all: nobody waits for ten calls of five seconds. `tell` hears of
    every block, in seconds per call. settles_in: calls after which it is known to be steady, 0 if only
    its pace tells. Raises what `check`, `tell` and the call raise.
    """
    begun, second_s = stopwatch.now(), cell.call_s
    samples, visits, calls, warm = [second_s], [second_s], 1, False
    early = 0  # samples of the time that would not count
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
    if settles_in and not warm:  # that many calls would have been too long
        warm = steady(samples, visits[-1], limit_s)
    # The last block alone may have been interrupted, and turns are shared out by this.
    cell.call_s, cell.visit_s = (statistics.median(figures[-LAST:]) for figures in (samples, visits))
    return Warmth(second_s + stopwatch.now() - begun, calls, warm, at_once(samples[1 + early :]))


def at_once(samples: Sequence[float]) -> bool:
    """Return whether a pace was from the start what it was at the end (seconds per call).

    The medians of the first eight samples and of the last half, within 5% or twice what the scatter of the
    last half explains. False while there are too few to tell.
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
    """Return whether the pace was the same in the last two windows of samples (seconds per call).

    A window is a third of all samples, 4 to 200, and the last two are compared as pyperf does
    (`settled`): short ones would take a slow but long change for none. Where a block with all that
    belongs to it takes so long (`visit_s`) that two windows of four would not fit into the limit, the last
    two samples must agree within 10%.
    """
    if len(samples) >= 2 * MIN_WINDOW:
        return settled(samples, max(MIN_WINDOW, min(WINDOW, len(samples) // 3)))
    if len(samples) < 2 or 2 * MIN_WINDOW * visit_s <= limit_s:
        return False
    return abs(samples[-2] / samples[-1] - 1) <= MEAN_TOLERANCE
