"""Calls until the pace is steady and a block is long enough."""

import statistics
from collections.abc import Callable, Sequence

from tuilab.analysis.warmup import MEAN_TOLERANCE, MIN_WINDOW, settled
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.worker.measure.timed_arm import TimedArm, Warmth

WINDOW = 200
LAST = 5


def warm_up(
    cell: TimedArm,
    stopwatch: Stopwatch,
    *,
    busy_s: float,
    limit_s: float,
    check: Callable[[], None],
    tell: Callable[[float], None] = lambda per_call_s: None,
) -> Warmth:
    """Call the cell until it was at it for `busy_s` and its pace is steady, or for `limit_s`.

    The calls of a block double meanwhile until a block is long enough. The second call counts as the first
    sample (`cell.call_s`), so a call longer than `busy_s` is made once more here and compared with it, and
    one longer than `limit_s` is not made at all: nobody waits for ten calls of five seconds. `tell` hears of
    every block, in seconds per call. Raises what `check`, `tell` and the call raise.
    """
    begun, second_s = stopwatch.now(), cell.call_s
    samples, visits, calls, warm = [second_s], [second_s], 1, False
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
        if second_s + ended - begun >= busy_s and steady(samples, visits[-1], limit_s):
            warm = True
            break
    # The last block alone may have been interrupted, and turns are shared out by this.
    cell.call_s, cell.visit_s = (statistics.median(figures[-LAST:]) for figures in (samples, visits))
    return Warmth(second_s + stopwatch.now() - begun, calls, warm)


def steady(samples: Sequence[float], visit_s: float, limit_s: float) -> bool:
    """Whether the pace was the same in the last two windows of samples (seconds per call).

    A window is a third of all samples, 4 to 200, and the last two are compared as pyperf does
    (`analysis.warmup`): short ones would take a slow but long change for none. Where a block with all that
    belongs to it takes so long (`visit_s`) that two windows of four would not fit into the limit, the last
    two samples must agree within 10 %.
    """
    if len(samples) >= 2 * MIN_WINDOW:
        return settled(samples, max(MIN_WINDOW, min(WINDOW, len(samples) // 3)))
    if len(samples) < 2 or 2 * MIN_WINDOW * visit_s <= limit_s:
        return False
    return abs(samples[-2] / samples[-1] - 1) <= MEAN_TOLERANCE
