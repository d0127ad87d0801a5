"""Estimates how fast an arm is in any process, from samples of several processes.

The memory and code layout of a process affect its speed, and can make it faster or slower than others until
it ends. An interval computed within one process does not include this variation. A run of several processes
(`--budget publish`, or a resumed run) shows this variation. Each process of such a run is one observation
(Kalibera & Jones 2013). The intervals are for the median over all possible processes, so the median of a
single process may lie outside its interval.
"""

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from tuilab.analysis.ratios import aligned_log_ratios, logs
from tuilab.analysis.statistics import (
    MIN_SAMPLES,
    Estimate,
    Location,
    chi_squared_tail,
    estimate,
    locate,
    median,
    once,
    rank_of_low_end,
    t_quantile,
)
from tuilab.analysis.words import listed, percent
from tuilab.model.found import Found
from tuilab.model.quantity import plural, seconds
from tuilab.model.run import ArmSamples, RunState

ALIKE = 0.01
NORMAL = statistics.NormalDist().inv_cdf(0.975)
ENOUGH = 3
SHORTEST = 5
"""Minimum number of samples from a process for its median to count as an observation."""


def estimate_of(cell: ArmSamples) -> Estimate | None:
    """Return the median of an arm's samples (seconds per call) with a 95% interval that also covers other
    processes.

    With three or more processes, the result is the median of their medians: each process counts once, however
    long it ran. With six or more, the interval runs between two of these medians
    (`statistics.rank_of_low_end`), which assumes no particular distribution. On a disturbed machine the
    distribution is skewed or has two levels, and the mean of the logs is not its median. With three to five,
    even the full range would not achieve 95%, so a t interval on their logs is used. With two processes that
    differ, the interval spans the intervals of both, but a third process may be outside it.
    """
    whole, medians = estimate(cell.samples), process_medians(cell)
    if whole is None or len(medians) < 2:
        return whole
    if len(medians) < ENOUGH:
        parts = _estimates(cell)
        apart = [part.interval for part in parts] if unlike([_middle(part) for part in parts]) else []
        known = [span for span in [whole.interval, *apart] if span is not None]
        if not known:
            return whole
        return replace(whole, low=min(low for low, _ in known), high=max(high for _, high in known))
    centre, span = middle_of_processes([m.mean for m in medians], _zygotes(cell))
    return replace(whole, median=math.exp(centre), low=math.exp(span[0]), high=math.exp(span[1]))


def kept_estimate(cell: ArmSamples) -> Estimate | None:
    """Return `estimate_of` the samples, cached until the next sample arrives."""
    return once(cell, "estimate", lambda: estimate_of(cell))


Middle = tuple[float, tuple[float, float]]
"""The median of the processes' log times, and its 95% interval."""


def middle_of_processes(logs: Sequence[float], zygotes: Sequence[int] = ()) -> Middle:
    """Return the median of the logs of three or more processes.

    zygotes: for each process, the zygote (a prepared parent process) from which it was forked. Forks of one
    zygote share its properties. If zygotes differ by more than the variation among their forks explains, each
    zygote is one observation, and the interval is at least as wide as that of the zygotes' means (Kalibera &
    Jones 2013: the highest level that varies).
    """
    centre, span = _middle_of_alike(logs)
    groups: dict[int, list[float]] = {}
    for log, zygote in zip(logs, zygotes, strict=False):
        groups.setdefault(zygote, []).append(log)
    several = [group for group in groups.values() if len(group) > 1]
    if len(several) < 2:
        return centre, span
    within = math.fsum((len(g) - 1) * statistics.variance(g) for g in several)
    error = math.sqrt(within / sum(len(g) - 1 for g in several))
    means = [statistics.fmean(g) for g in several]
    if not unlike(
        [Location(m, error / math.sqrt(len(g)), 0, len(g)) for m, g in zip(means, several, strict=True)]
    ):
        return centre, span
    mean, (low, high) = statistics.fmean(means), t_interval(means)[1]
    return centre, (min(span[0], centre + low - mean), max(span[1], centre + high - mean))


def _middle_of_alike(logs: Sequence[float]) -> Middle:
    rank = rank_of_low_end(len(logs))
    if rank is None:
        return t_interval(logs)
    # An interval between whole order statistics has 97 to 98% coverage for processes within one minute. The
    # margin above 95% allows for variation between minutes: if a tenth of the processes' variance is between
    # runs, the coverage remains 92 to 95%.
    ascending, k = sorted(logs), int(rank)
    return statistics.median(logs), (ascending[k - 1], ascending[-k])


def t_interval(logs: Sequence[float]) -> Middle:
    """Return the median with Student's t interval, which assumes that the mean equals the median."""
    mean, n = statistics.fmean(logs), len(logs)
    half = t_quantile(0.975, n - 1) * statistics.stdev(logs) / math.sqrt(n)
    return statistics.median(logs), (mean - half, mean + half)


def log_ratio(one: ArmSamples, other: ArmSamples) -> Location | None:
    """Return the mean log ratio of one arm to the other, paired by round; None without a common round."""
    whole = locate(aligned_log_ratios(one.rounds, one.samples, other.rounds, other.samples))
    if not one.begun:
        return whole
    return combined(whole, [locate(_aligned(one, other, low, high)) for low, high in _spans(one)])


def log_mean(cell: ArmSamples) -> Location | None:
    """Return the mean of the logs of an arm's samples, with the error between processes as in `combined`."""
    cuts = (cell.samples[_cut(cell, low, high)] for low, high in _spans(cell)) if cell.begun else ()
    return combined(locate(logs(cell.samples)), [locate(logs(cut)) for cut in cuts])


def combined(whole: Location | None, parts: Sequence[Location | None]) -> Location | None:
    """Return a mean with an error that includes the differences between processes.

    With six or more processes, each process is one observation. With three to five, the result is the mean of
    all samples or the mean of the processes, whichever has the wider interval. With two processes that
    differ, the interval spans both means. parts: the mean within each process; processes with few samples do
    not count.
    """
    middles = [part for part in parts if part is not None and part.n >= MIN_SAMPLES]
    if whole is None or len(middles) < 2:
        return whole
    if len(middles) >= MIN_SAMPLES:
        return _between(middles)
    if len(middles) >= ENOUGH:
        return max((whole, _between(middles)), key=lambda found: found.half_width() or 0.0)
    if not unlike(middles):
        return whole
    # With at most two processes, the standard deviation is half the distance between their means, so the
    # interval spans both means.
    error = max(whole.error or 0.0, statistics.pstdev([m.mean for m in middles]))
    return replace(whole, error=error)


def doubt(cell: ArmSamples) -> Found | None:
    """Return a caveat if the processes differ in speed."""
    parts = _estimates(cell)
    if not unlike([_middle(part) for part in parts]):
        return None
    medians = [part.median for part in parts]
    apart = percent(max(medians) / min(medians) - 1)
    message = f"{len(parts)} processes had medians of {listed([seconds(m) for m in medians])}, {apart} apart"
    rest = (
        "" if len(parts) >= ENOUGH else "; the interval covers both, but another process may lie outside it"
    )
    return Found("processes-differ", message + rest)


def begun(state: RunState) -> tuple[int, ...]:
    """Return the index of the first round of each process after the run's first process."""
    return tuple(
        sorted({at for arm in state.arms.values() for cell in arm.cells.values() for at in cell.begun})
    )


def unlike(middles: Sequence[Location]) -> bool:
    """Return True if means with known standard errors differ by more than those errors explain.

    Cochran's Q = Σ (yᵢ − ȳ)² / sᵢ² (1954), with weighted ȳ, against χ² with one degree of freedom fewer than
    means, at 1%.
    """
    known = [m for m in middles if m.error]
    if len(known) < 2:
        return False
    weights = [1 / m.error**2 for m in known if m.error]
    mean = sum(w * m.mean for w, m in zip(weights, known, strict=True)) / sum(weights)
    q = sum(w * (m.mean - mean) ** 2 for w, m in zip(weights, known, strict=True))
    return chi_squared_tail(q, len(known) - 1) < ALIKE


def spans(begun: Sequence[int], last: int) -> list[tuple[int, int]]:
    """Return each process's first round, and the round after its last. The last process ends with round
    `last`.
    """
    return [(low, high) for low, high in zip([0, *begun], [*begun, last + 1], strict=True) if low < high]


def _spans(cell: ArmSamples) -> list[tuple[int, int]]:
    return spans(cell.begun, cell.rounds[-1] if cell.rounds else 0)


def _cut(cell: ArmSamples, low: int, high: int) -> slice:
    return slice(bisect_left(cell.rounds, low), bisect_left(cell.rounds, high))


def _estimates(cell: ArmSamples) -> list[Estimate]:
    if not cell.begun:
        return []

    def found() -> list[Estimate]:
        every = (estimate(cell.samples[_cut(cell, low, high)]) for low, high in _spans(cell))
        return [e for e in every if e is not None and e.low is not None and e.low > 0]

    return once(cell, "processes", found)


def process_medians(cell: ArmSamples) -> list[Location]:
    """Return the log of each process's median. Omits processes with fewer than `SHORTEST` samples."""
    if not cell.begun:
        return []
    cuts = (cell.samples[_cut(cell, low, high)] for low, high in _spans(cell))
    medians = [(median(cut), len(cut)) for cut in cuts if len(cut) >= SHORTEST]
    return [
        Location(math.log(middle), None, 0, n) for middle, n in medians if middle is not None and middle > 0
    ]


def _zygotes(cell: ArmSamples) -> list[int]:
    """For each process whose median counts, return the number of its zygote. Each process without a zygote
    gets a number of its own.
    """
    every = [-1, *cell.zygotes] if len(cell.zygotes) == len(cell.begun) else [-1] * (1 + len(cell.begun))
    each = [zygote if zygote >= 0 else -1 - index for index, zygote in enumerate(every)]
    counted = (len(cell.samples[_cut(cell, low, high)]) >= SHORTEST for low, high in _spans(cell))
    return [zygote for zygote, counts in zip(each, counted, strict=False) if counts]


def few_processes(state: RunState) -> str:
    """Return `one process` or `2 processes`; "" if there are enough for an interval over the processes."""
    number = 1 + len(begun(state))
    return "" if number >= ENOUGH else "one process" if number == 1 else plural(number, "process")


def describe_coverage(state: RunState) -> str:
    number = 1 + len(begun(state))
    if number == 1:
        return "within this process and minute"
    cells = [cell for arm in state.arms.values() for cell in arm.cells.values()]
    forks = max((sum(zygote >= 0 for zygote in cell.zygotes) for cell in cells), default=0)
    which = f", {forks} of them forked" if forks else ""
    # The processes of a continued sweep may have measured different sizes.
    each = [
        sum((cut := _cut(cell, low, high)).start < cut.stop for low, high in _spans(cell))
        for cell in cells
        if cell.samples
    ]
    least, most = min(each, default=number), max(each, default=number)
    if most == 1:
        return "each within one process"
    if least < most < ENOUGH:
        return f"spanning {least} to {most} processes"
    if number < ENOUGH:
        return f"spanning {number} processes"
    return f"over {number} processes{which}, under the machine's conditions at that time"


def within_first(cell: ArmSamples) -> Estimate | None:
    """Return the median and interval of the first process alone. A budget's precision refers to a single
    process.
    """
    if not cell.begun:
        return kept_estimate(cell)
    end = bisect_left(cell.rounds, cell.begun[0])
    return once(cell, "within first", lambda: estimate(cell.samples[:end]))


def _middle(found: Estimate) -> Location:
    """Convert an estimate to a log mean with its standard error."""
    assert found.low is not None and found.high is not None
    error = math.log(found.high / found.low) / (2 * NORMAL)
    return Location(math.log(found.median), error, found.n - 1, found.n)


def _aligned(one: ArmSamples, other: ArmSamples, low: int, high: int) -> Sequence[float]:
    here, there = _cut(one, low, high), _cut(other, low, high)
    return aligned_log_ratios(one.rounds[here], one.samples[here], other.rounds[there], other.samples[there])


def _between(middles: Sequence[Location]) -> Location:
    """Return the mean of the processes' means, each as one observation.

    The interval is at least as wide as the interval of the processes' median.
    """
    means = [m.mean for m in middles]
    n, mean = len(means), statistics.fmean(means)
    low, high = middle_of_processes(means)[1]
    reach = max(high - mean, mean - low) / t_quantile(0.975, n - 1)
    return Location(mean, max(statistics.stdev(means) / math.sqrt(n), reach), n - 1, n)
