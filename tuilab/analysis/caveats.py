"""Finds reasons to doubt a figure: outliers, two levels, drift, busy processors."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

from tuilab.analysis.statistics import rank_autocorrelation, widening
from tuilab.analysis.words import listed, percent, times
from tuilab.model.found import Found
from tuilab.model.quantity import plural, seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray


FENCE = 3.0
OUTLIERS_FROM = 8


def count(samples: Sequence[float]) -> int:
    """Return the number of samples more than 3 IQR below the first or above the third quartile.

    Tukey's outer fences (1977), with quartiles by linear interpolation. For normal noise about 2 samples per
    million are outside. Returns 0 for fewer than eight samples.
    """
    if len(samples) < OUTLIERS_FROM:
        return 0
    first, _, third = statistics.quantiles(samples, n=4, method="inclusive")
    reach = FENCE * (third - first)
    return sum(not first - reach <= s <= third + reach for s in samples)


def outliers(samples: Sequence[float]) -> Found | None:
    finite = [s for s in samples if math.isfinite(s)]
    outside = count(finite)
    if not outside:
        return None
    message = f"{outside:,} of {len(finite):,} samples {'is an outlier' if outside == 1 else 'are outliers'}"
    middle = statistics.median(finite)
    if middle > 0:
        message += f"; the slowest took {times(max(finite) / middle)} the median"
    return Found("outliers", message)


LEVELS_FROM = 30
LEAST_SHARE = 0.15
LEAST_STEP = 0.05
SEPARATION, FEW = 4.5, 90
"""Minimum Ashman's D between two levels of n samples: SEPARATION + FEW / n. It is higher for few samples,
because a split of few samples finds random gaps. In simulations, fewer than 1 in 200 runs of normal, skewed,
heavy-tailed, drifting or evenly spread samples exceed this limit.
"""


class Levels(NamedTuple):
    """Two levels in seconds per call, lower first, and the share (0 to 1) of the samples that are at the
    higher level.
    """

    low_s: float
    high_s: float
    high_share: float


def levels(samples: Sequence[float]) -> Found | None:
    """Return a caveat if `samples` (seconds per call) cluster at two levels."""
    split = two_levels(samples)
    if split is None:
        return None
    words = (
        f"two speeds with little in between: {percent(1 - split.high_share)} of the samples at "
        f"{seconds(split.low_s)}, {percent(split.high_share)} at {seconds(split.high_s)}"
    )
    return Found("two-levels", f"{words}; the median may land on either, so it may change from run to run")


def two_levels(samples: Sequence[float]) -> Levels | None:
    """Return the two levels; None if the samples have one level or are too few to tell.

    Splits the logs where the variance within both parts is smallest (Otsu 1979; exact in one dimension).
    There are two levels if each part has 15% of the samples, their medians differ by 5%, and Ashman's D
    (Ashman, Bird & Zepf 1994), √2·|m₁ − m₂| / √(s₁² + s₂²), is at least 4.5 + 90 / n. Splitting uniform noise
    gives 3.5, splitting normal noise 2.7. None for fewer than 30 samples.
    """
    import numpy as np

    values = np.asarray(samples, dtype=float)
    logs = np.sort(np.log(values[np.isfinite(values) & (values > 0)]))
    least = math.ceil(LEAST_SHARE * len(logs))
    if len(logs) < LEVELS_FROM:
        return None
    cut = _parting(logs, least)
    low, high = logs[:cut], logs[cut:]
    step = float(np.median(high) - np.median(low))
    spread = math.sqrt(float(low.var(ddof=1) + high.var(ddof=1)))
    if step < math.log1p(LEAST_STEP) or math.sqrt(2) * step < (SEPARATION + FEW / len(logs)) * spread:
        return None
    return Levels(math.exp(np.median(low)), math.exp(np.median(high)), len(high) / len(logs))


def _parting(ordered: "NDArray[Any]", least: int) -> int:
    """Return the number of values in the lower level; each level has at least `least` values."""
    import numpy as np

    n = len(ordered)
    sizes = np.arange(least, n - least + 1)
    # Subtract the mean first: the sums of large values with a small spread would lose precision.
    sums = np.cumsum(ordered - ordered.mean())[sizes - 1]
    between = sums**2 / sizes + sums**2 / (n - sizes)
    return int(sizes[np.argmax(between)])


DRIFT = 0.02
SIGNIFICANCE = 0.01
DRIFT_FROM = 10
MOST_POINTS = 500


def drift(samples: Sequence[float]) -> Found | None:
    """Return a caveat if `samples` (seconds per call, in order, evenly spaced) drifted by more than 2%."""
    drifted = movement(samples)
    if drifted is None:
        return None
    moved, p = drifted
    word = "slowed down" if moved > 0 else "sped up"
    # `moved` is relative to the speed halfway through the run, so the line starts and ends `moved` / 2 away
    # from that speed.
    low, high = 1 - abs(moved) / 2, 1 + abs(moved) / 2
    amount = f"by {percent(abs(moved))}" if abs(moved) < 0.5 or low < 0.1 else times(high / low)
    certain = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return Found("drift", f"{word} {amount} while it was measured ({certain})")


def movement(samples: Sequence[float]) -> tuple[float, float] | None:
    """Return the drift of `samples` as a share of their median (positive if rising), and the p-value of the
    trend; None without drift.

    The drift is the Theil–Sen slope (median slope of all pairs; Sen 1968) times the run's length, over the
    median. A change counts as drift only if it is a trend by Mann–Kendall (`trend_p`) with p < 0.01. Beyond
    500 samples, uses the medians of 500 consecutive groups. Returns None for fewer than ten samples.
    """
    import numpy as np

    values = np.asarray(samples, dtype=float)
    values = _grouped(values[np.isfinite(values)])
    n = len(values)
    if n < DRIFT_FROM or not (middle := float(np.median(values))):
        return None
    i, j = np.triu_indices(n, 1)
    steps = values[j] - values[i]
    slope = float(np.median(steps / (j - i)))
    moved = slope * (n - 1) / abs(middle)
    if abs(moved) <= DRIFT:
        return None
    residuals = values - slope * np.arange(n)
    p = trend_p(steps, values, rank_autocorrelation(residuals.tolist()))
    return None if p >= SIGNIFICANCE else (moved, p)


def _grouped(values: "NDArray[Any]") -> "NDArray[Any]":
    import numpy as np

    if len(values) <= MOST_POINTS:
        return values
    return np.array([np.median(group) for group in np.array_split(values, MOST_POINTS)])


def trend_p(steps: "NDArray[Any]", values: "NDArray[Any]", rho: float) -> float:
    """Return the two-sided p-value of the Mann–Kendall test for a trend; `steps` are xⱼ − xᵢ for all i < j.

    S = Σ sign(steps) has variance (n(n − 1)(2n + 5) − Σ t(t − 1)(2t + 5)) / 18, summed over groups of t ties
    (Kendall 1975). Here, this variance is multiplied by (1 + ρ)/(1 − ρ) for the autocorrelation ρ of the
    detrended samples (Yue & Wang 2004), because autocorrelated samples otherwise show false trends. Normal
    approximation, n ≥ 10.
    """
    import numpy as np

    n = len(values)
    _, ties = np.unique(values, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float(np.sum(ties * (ties - 1) * (2 * ties + 5)))) / 18
    if variance <= 0:
        return 1.0
    s = float(np.sign(steps).sum())
    z = max(0.0, abs(s) - 1) / (math.sqrt(variance) * widening(rho))
    return 2 * NormalDist().cdf(-z)


SWITCHES_PER_S = 50.0
WAITED = 0.05
THROTTLED = 0.01
OTHERS = 0.25
INTRUDERS = 0.1
"""Minimum use of the processors by other processes, as a share of one core. Below this, context switches are
attributed to the process's own threads.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pressure:
    """The increase of the system's counters during `wall_s` seconds of measuring; None for counters that this
    system does not report.

    switches: involuntary context switches of this process (`ru_nivcsw`). waited_s: time in which the
    measuring thread was ready but not running (`/proc/thread-self/schedstat`). throttled_s: time for which a
    CPU quota stopped the process (cgroup `cpu.stat`, `throttled_usec`). others_s: CPU seconds of all other
    processes, over all cores (`/proc/stat` minus this process). load: the 1-minute load average. cores:
    logical CPUs that this process may use.
    """

    wall_s: float
    cores: int
    switches: int | None = None
    waited_s: float | None = None
    throttled_s: float | None = None
    others_s: float | None = None
    load: float | None = None


def contention(seen: Pressure) -> Found | None:
    """Return a caveat if other activity took processor time from the measurement.

    Limits: 50 involuntary switches per second, if other processes used at least 10% of a core (on Linux 6.18,
    one competitor on the same core caused 125 per second and kept a busy thread waiting half the time); the
    thread ready but not running for 5% of the time; the process stopped by a quota for 1% of the time; other
    processes using a quarter of all cores' time; a load average more than one above the number of cores.
    """
    if seen.wall_s <= 0:
        return None
    counters = (seen.throttled_s, seen.waited_s, seen.switches, seen.others_s)
    throttled, waited, switches, others = ((counter or 0.0) / seen.wall_s for counter in counters)
    reasons = []
    if throttled > THROTTLED:
        reasons.append(f"a CPU quota held it back for {percent(throttled)} of the time")
    if waited > WAITED:
        reasons.append(f"it waited for a processor for {percent(waited)} of the time")
    alone = seen.others_s is not None and others < INTRUDERS
    if switches > SWITCHES_PER_S and not alone:
        reasons.append(f"it was interrupted {switches:,.0f} times a second")
    if others / seen.cores > OTHERS:
        share = percent(others / seen.cores)
        reasons.append(f"other processes used {share} of {plural(seen.cores, 'logical CPU')}")
    if seen.load is not None and seen.load > seen.cores + 1:
        reasons.append(f"the load average was {seen.load:.1f} on {plural(seen.cores, 'logical CPU')}")
    if not reasons:
        return None
    return Found("cpu-contention", f"the measurement shared its processors: {listed(reasons)}")
