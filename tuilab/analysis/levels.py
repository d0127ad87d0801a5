"""Samples that lie at two paces with nothing between them, of which one median says too little."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tuilab.analysis.caveat import Caveat
from tuilab.analysis.words import percent
from tuilab.model.quantity import seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_SAMPLES = 30
LEAST_SHARE = 0.15
LEAST_STEP = 0.05
SEPARATION, FEW = 4.5, 90
"""How far apart two parts must lie: more where samples are few, since a cut finds gaps that chance left. By
simulation fewer than 1 in 200 runs of normal, skewed, heavy-tailed, drifting or evenly spread samples do."""


class Levels(NamedTuple):
    """Two paces in seconds per call, the lower first, and the share (0 … 1) of the samples at the higher."""

    low_s: float
    high_s: float
    high_share: float


def levels(samples: Sequence[float]) -> Caveat | None:
    """A doubt that names the two paces of `samples` (seconds per call), where there are two."""
    found = two_levels(samples)
    if found is None:
        return None
    words = (
        f"two paces with little between: {percent(1 - found.high_share)} of the samples at "
        f"{seconds(found.low_s)}, {percent(found.high_share)} at {seconds(found.high_s)}"
    )
    return Caveat("two-levels", f"{words}; which of them the median shows may change from run to run")


def two_levels(samples: Sequence[float]) -> Levels | None:
    """The two paces, or null where the samples have one or cannot tell.

    The logs are parted where the variance within both parts is least (Otsu 1979; exact for one dimension).
    There are two levels if either part has 15 % of the samples, their medians are 5 % apart, and Ashman's D
    (Ashman, Bird & Zepf 1994), √2·|m₁ − m₂| / √(s₁² + s₂²), is at least 4.5 + 90 / n. Even noise cut in two
    has 3.5, normal noise 2.7. Null below 30 samples.
    """
    import numpy as np

    values = np.asarray(samples, dtype=float)
    logs = np.sort(np.log(values[np.isfinite(values) & (values > 0)]))
    least = max(2, math.ceil(LEAST_SHARE * len(logs)))
    if len(logs) < MIN_SAMPLES:
        return None
    cut = _parting(logs, least)
    low, high = logs[:cut], logs[cut:]
    step = float(np.median(high) - np.median(low))
    spread = math.sqrt(float(low.var(ddof=1) + high.var(ddof=1)))
    if step < math.log1p(LEAST_STEP) or math.sqrt(2) * step < (SEPARATION + FEW / len(logs)) * spread:
        return None
    return Levels(math.exp(np.median(low)), math.exp(np.median(high)), len(high) / len(logs))


def _parting(ordered: "NDArray[Any]", least: int) -> int:
    """How many values form the lower part; either part has `least` of them."""
    import numpy as np

    n = len(ordered)
    sizes = np.arange(least, n - least + 1)
    # About the mean, so that nothing is lost where the spread is small against the level.
    sums = np.cumsum(ordered - ordered.mean())[sizes - 1]
    between = sums**2 / sizes + sums**2 / (n - sizes)
    return int(sizes[np.argmax(between)])
