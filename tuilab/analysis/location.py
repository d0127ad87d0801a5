"""The middle of a set of log ratios, with its standard error."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tuilab.analysis.autocorrelation import LARGE, rank_autocorrelation, widening
from tuilab.analysis.student import t_quantile

TRIM = 0.1


@dataclass(frozen=True, slots=True)
class Location:
    """A mean with its standard error and degrees of freedom, in the samples' unit.

    error: null for a single sample, of which no spread can be told.
    """

    mean: float
    error: float | None
    df: int
    n: int

    def half_width(self, level: float = 0.95) -> float | None:
        """Half-width of the two-sided t interval that holds the true mean with probability `level`."""
        return None if self.error is None else t_quantile((1 + level) / 2, self.df) * self.error


def locate(samples: Sequence[float], rho: float | None = None) -> Location | None:
    """The 10 % trimmed mean of finite samples in the order of measurement; null without samples.

    Standard error from the Winsorised variance, √((n − 1) s_w² / (h (h − 1))) with h = n − 2 ⌊n / 10⌋ kept
    (Tukey & McLaughlin 1963; Yuen 1974), times √((1 + ρ)/(1 − ρ)) for the lag-1 rank autocorrelation ρ; the
    degrees of freedom (h − 1) shrink by the same factor squared. Below ten samples nothing is trimmed and
    this is the ordinary mean. Assumes noise that is about symmetric; one spike among twenty rounds then
    costs little, where a plain mean's interval grows several-fold. rho: given where more than these samples
    tell of it.
    """
    n = len(samples)
    if n < 2:
        return Location(samples[0], None, 0, 1) if n else None
    cut = int(TRIM * n)
    h = n - 2 * cut
    mean, squares = _large(samples, cut) if n > LARGE else _small(samples, cut)
    factor = widening(rank_autocorrelation(samples) if rho is None else rho)
    error = math.sqrt(squares / (h * (h - 1))) * factor
    return Location(mean, error, max(1, int((h - 1) / factor**2)), n)


def _small(samples: Sequence[float], cut: int) -> tuple[float, float]:
    """The trimmed mean, and the sum of the Winsorised samples' squared distances from their own mean."""
    n = len(samples)
    kept = sorted(samples)[cut : n - cut]
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    centre = math.fsum(winsorised) / n
    return math.fsum(kept) / len(kept), math.fsum([(w - centre) ** 2 for w in winsorised])


def _large(samples: Sequence[float], cut: int) -> tuple[float, float]:
    """The same of many samples, to rounding."""
    import numpy as np

    n = len(samples)
    kept = np.sort(np.asarray(samples, dtype=float))[cut : n - cut]
    total, ends = float(kept.sum()), kept[[0, -1]]
    centre = (total + cut * float(ends.sum())) / n
    squares = float(((kept - centre) ** 2).sum()) + cut * float(((ends - centre) ** 2).sum())
    return total / len(kept), squares
