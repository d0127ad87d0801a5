"""Samples far from the rest: counted, never dropped."""

import math
import statistics
from collections.abc import Sequence

from tuilab.analysis.caveat import Caveat
from tuilab.analysis.words import times

FENCE = 3.0
MIN_SAMPLES = 8


def count(samples: Sequence[float]) -> int:
    """How many samples lie more than 3 IQR below the first or above the third quartile.

    Tukey's outer fences (1977), quartiles by linear interpolation. Of normal noise about 2 in a million
    lie beyond. 0 below eight samples.
    """
    if len(samples) < MIN_SAMPLES:
        return 0
    first, _, third = statistics.quantiles(samples, n=4, method="inclusive")
    reach = FENCE * (third - first)
    return sum(not first - reach <= s <= third + reach for s in samples)


def outliers(samples: Sequence[float]) -> Caveat | None:
    """A doubt that names how many of `samples` (seconds per call) are outliers, and the worst of them."""
    finite = [s for s in samples if math.isfinite(s)]
    found = count(finite)
    if not found:
        return None
    verb = "lies" if found == 1 else "lie"
    message = f"{found:,} of {len(finite):,} samples {verb} far outside the rest"
    middle = statistics.median(finite)
    if middle > 0:
        message += f"; the slowest took {times(max(finite) / middle)} the median"
    return Caveat("outliers", message)
