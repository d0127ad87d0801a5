"""Whether a cell became slower or faster while it was measured."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from tuilab.analysis.autocorrelation import rank_autocorrelation, widening
from tuilab.analysis.caveat import Caveat
from tuilab.analysis.words import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIMIT = 0.02
SIGNIFICANCE = 0.01
MIN_SAMPLES = 10
MOST_POINTS = 500


def drift(samples: Sequence[float]) -> Caveat | None:
    """A doubt where `samples` moved by more than 2 % over the run; seconds per call, in order, evenly spaced.

    The movement is the Theil–Sen slope (median of the slopes of all pairs; Sen 1968) times the run's length,
    over the median; it must also be a trend by Mann–Kendall (`trend_p`) with p < 0.01. Beyond 500 samples the
    medians of 500 successive groups stand for them. Fewer than ten samples show no drift.
    """
    import numpy as np

    values = np.asarray(samples, dtype=float)
    values = _grouped(values[np.isfinite(values)])
    n = len(values)
    if n < MIN_SAMPLES or not (middle := float(np.median(values))):
        return None
    i, j = np.triu_indices(n, 1)
    steps = values[j] - values[i]
    slope = float(np.median(steps / (j - i)))
    moved = slope * (n - 1) / abs(middle)
    if abs(moved) <= LIMIT:
        return None
    residuals = values - slope * np.arange(n)
    p = trend_p(steps, values, rank_autocorrelation(residuals.tolist()))
    if p >= SIGNIFICANCE:
        return None
    word = "slower" if moved > 0 else "faster"
    certain = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return Caveat("drift", f"became {percent(abs(moved))} {word} while it was measured ({certain})")


def _grouped(values: "NDArray[Any]") -> "NDArray[Any]":
    import numpy as np

    if len(values) <= MOST_POINTS:
        return values
    return np.array([np.median(group) for group in np.array_split(values, MOST_POINTS)])


def trend_p(steps: "NDArray[Any]", values: "NDArray[Any]", rho: float) -> float:
    """Two-sided p of Mann–Kendall's test that `values` have no trend; `steps` are xⱼ − xᵢ for all i < j.

    S = Σ sign(steps) has variance (n(n − 1)(2n + 5) − Σ t(t − 1)(2t + 5)) / 18 over groups of t ties (Kendall
    1975), here times (1 + ρ)/(1 − ρ) for the autocorrelation ρ of what the trend leaves (Yue & Wang 2004):
    without it samples that follow each other show trends that are none. Normal approximation, n ≥ 10.
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
