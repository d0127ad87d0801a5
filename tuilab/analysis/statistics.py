"""Medians, means of log ratios and their 95% intervals, for autocorrelated samples."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from operator import mul
from statistics import NormalDist
from typing import Any, TypeVar, cast

from tuilab.model.quantity import interval, median_of
from tuilab.model.run import ArmSamples

_EXACT_UP_TO = 40


def cdf(t: float, df: int) -> float:
    """Return P(T ≤ t) for Student's T with `df` degrees of freedom (an integer, at least 1).

    Source: Abramowitz & Stegun 26.7.3 (odd) and 26.7.4 (even), finite sums in θ = atan(t / √df). Exact except
    for rounding. Unitless.
    """
    theta = math.atan(t / math.sqrt(df))
    cos2 = math.cos(theta) ** 2
    total, term = 0.0, math.cos(theta) if df % 2 else 1.0
    for k in range(1 if df % 2 else 0, df - 1, 2):
        total += term
        term *= cos2 * (k + 1) / (k + 2)
    area = math.sin(theta) * total
    if df % 2:
        area = 2 / math.pi * (theta + area)
    return 0.5 + area / 2


@lru_cache(maxsize=1024)
def t_quantile(p: float, df: int) -> float:
    """Return the t for which P(T ≤ t) = p, with 0 < p < 1. Unitless.

    Up to 40 degrees of freedom, bisects `cdf`. Above 40, uses the expansion around the normal quantile of
    Abramowitz & Stegun 26.7.5, accurate to 1e-5 for p ≤ 0.9999.
    """
    if df < 1 or not 0 < p < 1:
        raise ValueError(f"no t quantile for p = {p}, df = {df}")
    if p < 0.5:
        return -t_quantile(1 - p, df)
    if df > _EXACT_UP_TO:
        z = NormalDist().inv_cdf(p)
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160
        return z + first / df + second / df**2 + third / df**3 + fourth / df**4
    low, high = 0.0, 1.0
    while cdf(high, df) < p and high < 1e12:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle, df) < p else (low, middle)
    return (low + high) / 2


def chi_squared_tail(x: float, df: int) -> float:
    """Return P(X > x) for χ² with `df` degrees of freedom (an integer, at least 1). Unitless.

    Source: Abramowitz & Stegun 26.4.4 (odd) and 26.4.5 (even), finite sums.
    """
    half = max(0.0, x) / 2
    if df % 2:
        tail, term, first = math.erfc(math.sqrt(half)), 2 * math.sqrt(half / math.pi) * math.exp(-half), 1.5
    else:
        tail, term, first = math.exp(-half), half * math.exp(-half), 2.0
    for k in range((df - 1) // 2):
        tail += term
        term *= half / (first + k)
    return min(1.0, tail)


CORRELATED_FROM = 8
MOST_CORRELATED = 0.95
LARGE = 5_000


def ranks(samples: Sequence[float]) -> list[float]:
    """Return the ranks 1 … n in the samples' order. Ties get their mean rank. Assumes finite samples."""
    order = sorted(range(len(samples)), key=samples.__getitem__)
    out = [0.0] * len(samples)
    if len(set(samples)) == len(samples):
        for rank, place in enumerate(order, start=1):
            out[place] = rank
        return out
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and samples[order[stop]] == samples[order[start]]:
            stop += 1
        for place in range(start, stop):
            out[order[place]] = (start + 1 + stop) / 2
        start = stop
    return out


def rank_autocorrelation(samples: Sequence[float]) -> float:
    """Return the lag-1 autocorrelation of the ranks, corrected for bias; −1 to 0.95, or 0 if unknown.

    For an AR(1) process, the estimate r is too low by (1 + 4ρ) / n on average (Marriott & Pope 1954); this
    amount, with r in place of ρ, is added to it. With ranks, a spike has no more weight than any other
    sample. The samples must be in the order of measurement and equally spaced. With fewer than 8 samples the
    estimate is meaningless, so this returns 0. Unitless.
    """
    n = len(samples)
    if n < CORRELATED_FROM:
        return 0.0
    r = _rank_correlation_of_many(samples) if n > LARGE else _rank_correlation(samples)
    return max(-1.0, min(MOST_CORRELATED, r + (1 + 4 * r) / n)) if math.isfinite(r) else 0.0


def _rank_correlation(samples: Sequence[float]) -> float:
    centre = (len(samples) + 1) / 2
    deviations = [rank - centre for rank in ranks(samples)]
    spread = sum(map(mul, deviations, deviations))
    return sum(map(mul, deviations, deviations[1:])) / spread if spread else math.nan


def _rank_correlation_of_many(samples: Sequence[float]) -> float:
    import numpy as np

    _, place, counts = np.unique(np.asarray(samples, dtype=float), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    deviations = (last - (counts - 1) / 2)[place] - (len(samples) + 1) / 2
    spread = float(deviations @ deviations)
    return float(deviations[1:] @ deviations[:-1]) / spread if spread else math.nan


def widening(rho: float) -> float:
    """Return √((1 + ρ) / (1 − ρ)): the standard error of a mean of AR(1) samples relative to independent
    ones.

    Source: Bartlett 1946, large n. For a negative ρ, which would narrow an interval on weak evidence, this
    returns 1. Unitless.
    """
    rho = max(0.0, min(MOST_CORRELATED, rho))
    return math.sqrt((1 + rho) / (1 - rho))


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

LONGEST = 500
"""Maximum number of samples for which results are cached. Caching more would take much memory and save little
time.
"""


def once(cell: ArmSamples, what: object, call: Callable[[], T], *others: ArmSamples) -> T:
    """Return the result of `call`, cached in `cell` until `cell` or one of `others` gets a new sample.

    The cache is useful because a summary needs the same figure in several places. what: the figure's key in
    the cache.
    """
    counts = [(len(each.samples), len(each.latencies)) for each in (cell, *others)]
    kept = cell.known.get(what)
    if kept is None or kept[0] != counts or any(a is not b for a, b in zip(kept[1], others, strict=True)):
        kept = cell.known[what] = counts, others, call()
    return cast(T, kept[2])


def remembered(function: F) -> F:
    """Cache the last 1,024 results of a pure function of tuples.

    When a sweep is summarized again, most of its samples are unchanged.
    """
    kept = lru_cache(maxsize=1024)(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(arg, tuple) and len(arg) > LONGEST for arg in args):
            return function(*args, **kwargs)
        return kept(*args, **kwargs)

    return cast(F, call)


LEVEL = 0.95
MIN_SAMPLES = 6  # With fewer samples, even the full range does not contain the median with 95% probability.


class Bounded:
    """A figure with the low and high end of its 95% interval, if any."""

    __slots__ = ()
    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class Estimate(Bounded):
    """A median with its 95% interval, in the samples' unit (seconds per call).

    low, high: None if the samples are too few or too autocorrelated for any interval. n: number of samples.
    rho: their lag-1 rank autocorrelation.
    """

    median: float
    low: float | None
    high: float | None
    n: int
    rho: float

    @property
    def relative_half_width(self) -> float | None:
        """`half_width` over the median, to compare with a budget's precision. None for a median of 0."""
        half = self.half_width
        return None if half is None or not self.median else half / abs(self.median)

    @property
    def words(self) -> str:
        """Format as `0.48 ms`, with the digits that the interval allows. Every view uses this."""
        return median_of(self.median, self.half_width)

    @property
    def with_interval(self) -> str:
        """Format as `0.48 ms [0.47 0.50]`, without the interval if there is none."""
        return (
            self.words if self.interval is None else f"{self.words} {interval(*self.interval, self.median)}"
        )


def estimate(samples: Sequence[float]) -> Estimate | None:
    """Return the median of `samples` (in the order of measurement) with its 95% interval; None without
    samples.

    The interval runs between two order statistics at the fractional ranks of `rank_of_low_end`. This assumes
    independent samples of one continuous distribution, of any shape. The ranks are then moved away from the
    middle by √((1+ρ)/(1−ρ)), with the lag-1 rank autocorrelation ρ, because consecutive timings resemble each
    other. If this moves a rank beyond the samples, there is no interval. Ignores samples that are not finite.
    """
    return _estimate(samples) if len(samples) > LONGEST else _remembered(tuple(samples))


def _estimate(samples: Sequence[float]) -> Estimate | None:
    kept = _finite(samples)
    n = len(kept)
    if not n:
        return None
    ascending = _sorted(kept)
    middle = at_rank(ascending, (n + 1) / 2)
    rho = rank_autocorrelation(kept)
    rank = rank_of_low_end(n)
    if rank is None:
        return Estimate(middle, None, None, n, rho)
    reach = ((n + 1) / 2 - rank) * widening(rho)
    rank = (n + 1) / 2 - reach
    if rank < 1:
        return Estimate(middle, None, None, n, rho)
    return Estimate(middle, at_rank(ascending, rank), at_rank(ascending, n + 1 - rank), n, rho)


_remembered = remembered(_estimate)


def median(samples: Sequence[float]) -> float | None:
    ascending = _sorted(_finite(samples))
    return at_rank(ascending, (len(ascending) + 1) / 2) if len(ascending) else None


def _finite(samples: Sequence[float]) -> Sequence[float]:
    if len(samples) > LARGE:
        import numpy as np

        array = np.asarray(samples, dtype=float)
        return cast(Sequence[float], array[np.isfinite(array)])
    return [float(s) for s in samples if math.isfinite(s)]


def _sorted(samples: Sequence[float]) -> Sequence[float]:
    if len(samples) > LARGE:
        import numpy as np

        return cast(Sequence[float], np.sort(np.asarray(samples)))
    return sorted(samples)


def at_rank(ascending: Sequence[float], rank: float) -> float:
    """Return the value at a fractional rank, from 1 to n."""
    below = min(max(int(rank), 1), len(ascending))
    above = min(below + 1, len(ascending))
    weight = rank - below
    low, high = float(ascending[below - 1]), float(ascending[above - 1])
    # If both neighbors are equal, this formula returns exactly their value, whereas low × (1 − w) + high × w
    # may not.
    return low + weight * (high - low) if math.isfinite(high - low) else low * (1 - weight) + high * weight


@lru_cache(maxsize=4096)
def rank_of_low_end(n: int) -> float | None:
    """Return the fractional rank (1 … n/2) of the lower end of a 95% interval for the median of n samples.

    The median is between order statistics k and n + 1 − k with probability γ(k) = 1 − 2 P(B < k), B binomial
    (n, ½). k is the largest with γ(k) ≥ 0.95, and the rank is k + λ, where λ = (n − k) I / (k + (n − 2k) I)
    and I = (γ(k) − 0.95) / (γ(k) − γ(k + 1)): Hettmansperger & Sheather 1986, Nyblom 1992. None below n = 6.
    Above 1,000, where 2⁻ⁿ underflows, uses the normal approximation (n + 1)/2 − 1.96 √n / 2, accurate to 0.1
    of a rank.
    """
    if n < MIN_SAMPLES:
        return None
    if n > 1_000:
        return (n + 1) / 2 - 1.959963984540054 * math.sqrt(n) / 2
    below, term = 0.0, math.exp(-n * math.log(2))
    k, gamma = 0, 1.0
    while True:
        below += term
        following = 1 - 2 * below
        if following < LEVEL:
            break
        k, gamma = k + 1, following
        term *= (n - k + 1) / k
    share = (gamma - LEVEL) / (gamma - following)
    return k + (n - k) * share / (k + (n - 2 * k) * share)


TRIM = 0.1


@dataclass(frozen=True, slots=True)
class Location:
    """A mean with its standard error and degrees of freedom, in the samples' unit.

    error: None for a single sample, which shows no spread.
    """

    mean: float
    error: float | None
    df: int
    n: int

    def half_width(self, level: float = 0.95) -> float | None:
        """Return the half-width of the two-sided t interval with confidence `level`."""
        return None if self.error is None else t_quantile((1 + level) / 2, self.df) * self.error


def locate(samples: Sequence[float], rho: float | None = None) -> Location | None:
    """Return the 10% trimmed mean of finite samples in the order of measurement; None without samples.

    The standard error comes from the Winsorised variance, √((n − 1) s_w² / (h (h − 1))) with h = n − 2 ⌊n /
    10⌋ samples kept (Tukey & McLaughlin 1963; Yuen 1974), times √((1 + ρ)/(1 − ρ)) for the lag-1 rank
    autocorrelation ρ; the degrees of freedom (h − 1) shrink by the same factor squared. With fewer than ten
    samples, nothing is trimmed and this is the ordinary mean. Assumes roughly symmetric noise. One spike in
    twenty rounds has little effect on this interval, whereas the interval of a plain mean would grow
    several-fold. rho: the autocorrelation, if it was estimated from more data than these samples.
    """
    n = len(samples)
    if n < 2:
        return Location(samples[0], None, 0, 1) if n else None
    cut = int(TRIM * n)
    h = n - 2 * cut
    mean, squares = _trimmed_of_many(samples, cut) if n > LARGE else _trimmed(samples, cut)
    factor = widening(rank_autocorrelation(samples) if rho is None else rho)
    error = math.sqrt(squares / (h * (h - 1))) * factor
    return Location(mean, error, max(1, int((h - 1) / factor**2)), n)


def _trimmed(samples: Sequence[float], cut: int) -> tuple[float, float]:
    """Return the trimmed mean, and the sum of squares of the Winsorised samples around their mean."""
    n = len(samples)
    kept = sorted(samples)[cut : n - cut]
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    centre = math.fsum(winsorised) / n
    return math.fsum(kept) / len(kept), math.fsum([(w - centre) ** 2 for w in winsorised])


def _trimmed_of_many(samples: Sequence[float], cut: int) -> tuple[float, float]:
    """Return the result of `_trimmed`, up to rounding, but computed faster for many samples."""
    import numpy as np

    n = len(samples)
    kept = np.sort(np.asarray(samples, dtype=float))[cut : n - cut]
    total, ends = float(kept.sum()), kept[[0, -1]]
    centre = (total + cut * float(ends.sum())) / n
    squares = float(((kept - centre) ** 2).sum()) + cut * float(((ends - centre) ** 2).sum())
    return total / len(kept), squares
