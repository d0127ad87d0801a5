"""Whether a cell has warmed up: two successive windows of its timings agree."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

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
        """Means within 10 % and both quartiles within 5 %."""
        quartiles = max(abs(self.first_quartile), abs(self.third_quartile))
        return abs(self.mean) <= MEAN_TOLERANCE and quartiles <= QUARTILE_TOLERANCE


def compare(earlier: Sequence[float], later: Sequence[float]) -> Agreement:
    """Two windows of seconds per call, each of at least four samples, against each other.

    The means and quartiles of pyperf's test for the end of warm-up (`calibrate_warmups`), which lets the
    earlier window's mean be up to 50 % *lower*; here 10 % either way, since a cell that still grows slower is
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
    """Whether the last two windows of `window` samples agree; with no window, the two halves of all samples.

    False while there are too few samples.
    """
    size = window or len(samples) // 2
    if size < MIN_WINDOW or len(samples) < 2 * size:
        return False
    return compare(samples[-2 * size : -size], samples[-size:]).agrees


def _off(earlier: float, later: float) -> float:
    if earlier == later:
        return 0.0
    return (earlier - later) / later if later else math.inf
