"""The median of a run of timings, and how far it can be trusted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from tuilab.analysis.autocorrelation import LARGE, rank_autocorrelation, widening
from tuilab.analysis.memory import LONGEST, remembered

LEVEL = 0.95
MIN_SAMPLES = 6  # Below, not even the whole range holds the median with 95 %.


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median with its 95 % interval, in the samples' unit (seconds per call).

    low, high: null where the samples are too few, or too much alike their neighbours, for any interval.
    n: samples. rho: their lag-1 rank autocorrelation.
    """

    median: float
    low: float | None
    high: float | None
    n: int
    rho: float

    @property
    def interval(self) -> tuple[float, float] | None:
        """(low, high), null where there is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def half_width(self) -> float | None:
        """Half the interval's length, in the samples' unit."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def relative_half_width(self) -> float | None:
        """`half_width` over the median: what a budget's precision is held against. Null for a median of 0."""
        half = self.half_width
        return None if half is None or not self.median else half / abs(self.median)


def estimate(samples: Sequence[float]) -> Estimate | None:
    """The median of `samples` (in the order of measurement) with its 95 % interval; null without samples.

    The interval runs between two order statistics, at the fractional ranks of `rank_of_low_end`, which
    assumes independent samples of one continuous distribution and nothing of its shape. Ranks are then moved
    away from the middle by √((1+ρ)/(1−ρ)), ρ the lag-1 rank autocorrelation, since timings that follow each
    other resemble each other. Where that leads beyond the smallest sample no interval is given. Samples that
    are not finite are left out.
    """
    return _estimate(samples) if len(samples) > LONGEST else _remembered(tuple(samples))


def _estimate(samples: Sequence[float]) -> Estimate | None:
    kept = _finite(samples)
    n = len(kept)
    if not n:
        return None
    ascending = _sorted(kept)
    middle = _at(ascending, (n + 1) / 2)
    rho = rank_autocorrelation(kept)
    rank = rank_of_low_end(n)
    if rank is None:
        return Estimate(middle, None, None, n, rho)
    reach = ((n + 1) / 2 - rank) * widening(rho)
    rank = (n + 1) / 2 - reach
    if rank < 1:
        return Estimate(middle, None, None, n, rho)
    return Estimate(middle, _at(ascending, rank), _at(ascending, n + 1 - rank), n, rho)


_remembered = remembered(_estimate)


def median(samples: Sequence[float]) -> float | None:
    """The median of those samples that are finite; null where none is."""
    ascending = _sorted(_finite(samples))
    return _at(ascending, (len(ascending) + 1) / 2) if len(ascending) else None


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


def _at(ascending: Sequence[float], rank: float) -> float:
    """The value at a fractional rank, 1 … n."""
    below = min(max(int(rank), 1), len(ascending))
    above = min(below + 1, len(ascending))
    weight = rank - below
    low, high = float(ascending[below - 1]), float(ascending[above - 1])
    # In this form equal neighbours give themselves, which low × (1 − w) + high × w does not.
    return low + weight * (high - low) if math.isfinite(high - low) else low * (1 - weight) + high * weight


@lru_cache(maxsize=4096)
def rank_of_low_end(n: int) -> float | None:
    """The fractional rank (1 … n/2) at which a 95 % interval for the median of n samples begins.

    Between order statistics k and n + 1 − k the median lies with probability γ(k) = 1 − 2 P(B < k), B
    binomial (n, ½). k is the largest with γ(k) ≥ 0.95 and the rank is k + λ, where
    λ = (n − k) I / (k + (n − 2k) I) and I = (γ(k) − 0.95) / (γ(k) − γ(k + 1)): Hettmansperger & Sheather
    1986, Nyblom 1992. Null below n = 6. Above 1,000, where 2⁻ⁿ underflows, the normal approximation
    (n + 1)/2 − 1.96 √n / 2, there right to 0.1 of a rank.
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
