"""How much each sample resembles the one before it, and what that does to an interval's width."""

import math
from collections.abc import Sequence
from operator import mul

MIN_SAMPLES = 8
LIMIT = 0.95
LARGE = 5_000


def ranks(samples: Sequence[float]) -> list[float]:
    """Ranks 1 … n, ties sharing their mean rank, in the samples' order. Finite samples assumed."""
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
    """Lag-1 autocorrelation of the ranks, corrected for its bias; −1 … 0.95, 0 where it cannot be told.

    The estimate r of an AR(1) process falls short by (1 + 4ρ) / n on average (Marriott & Pope 1954), which
    is added, with r for ρ. On ranks one spike weighs no more than any other sample. Samples in the order of
    measurement, equally far apart. Below 8 samples the estimate says nothing: 0. Unitless.
    """
    n = len(samples)
    if n < MIN_SAMPLES:
        return 0.0
    r = _large(samples) if n > LARGE else _small(samples)
    return max(-1.0, min(LIMIT, r + (1 + 4 * r) / n)) if math.isfinite(r) else 0.0


def _small(samples: Sequence[float]) -> float:
    centre = (len(samples) + 1) / 2
    deviations = [rank - centre for rank in ranks(samples)]
    spread = sum(map(mul, deviations, deviations))
    return sum(map(mul, deviations, deviations[1:])) / spread if spread else math.nan


def _large(samples: Sequence[float]) -> float:
    import numpy as np

    _, place, counts = np.unique(np.asarray(samples, dtype=float), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    deviations = (last - (counts - 1) / 2)[place] - (len(samples) + 1) / 2
    spread = float(deviations @ deviations)
    return float(deviations[1:] @ deviations[:-1]) / spread if spread else math.nan


def widening(rho: float) -> float:
    """√((1 + ρ) / (1 − ρ)): the standard error of a mean of AR(1) samples over that of independent ones.

    Source: Bartlett 1946, large n. A negative ρ would narrow an interval on weak evidence: 1 then. Unitless.
    """
    rho = max(0.0, min(LIMIT, rho))
    return math.sqrt((1 + rho) / (1 - rho))
