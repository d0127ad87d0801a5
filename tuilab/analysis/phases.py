"""The cost model of a copy, fitted to measured times for several sizes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CopyCost:
    """A copy of n bytes takes latency_s + n / bytes_per_s seconds.

    bytes_per_s: None if the sizes show no cost per byte. misfit: root mean square of the relative residuals,
    unitless. If the misfit is much larger than the timing noise, a straight line is a poor model.
    """

    latency_s: float
    bytes_per_s: float | None
    misfit: float

    def seconds(self, count: float) -> float:
        return self.latency_s + (count / self.bytes_per_s if self.bytes_per_s else 0.0)


def copy_cost(sizes: Sequence[float], seconds: Sequence[float]) -> CopyCost | None:
    """Fit α + bytes / β (Hockney 1994) to the copy times of several sizes; None for fewer than two sizes.

    Minimizes the *relative* residuals by least squares, because times span decades and noise is proportional;
    α and 1/β are not negative. sizes in bytes, times in seconds; pairs whose time is not positive and finite
    are ignored.
    """
    rows = [(x, t) for x, t in zip(sizes, seconds, strict=True) if 0 < t < math.inf and 0 <= x < math.inf]
    if len({x for x, _ in rows}) < 2:
        return None
    # Scaled by the largest size and time, so that nothing overflows.
    scale_x, scale_t = max(x for x, _ in rows), max(t for _, t in rows)
    ones = [scale_t / t for _, t in rows]
    slopes = [x / scale_x * one for (x, _), one in zip(rows, ones, strict=True)]
    latency, slope = _least_squares(ones, slopes)
    errors = [latency * one + slope * each - 1 for one, each in zip(ones, slopes, strict=True)]
    misfit = math.sqrt(math.fsum(e * e for e in errors) / len(errors))
    per_s = scale_x / (slope * scale_t) if slope > 0 else None
    return CopyCost(latency * scale_t, per_s, misfit)


def _least_squares(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return the p, q ≥ 0 that minimize Σ (p · first + q · second − 1)²."""
    aa, bb = (math.fsum(v * v for v in row) for row in (first, second))
    ab = math.fsum(a * b for a, b in zip(first, second, strict=True))
    a, b = math.fsum(first), math.fsum(second)
    determinant = aa * bb - ab * ab
    if determinant > 0:
        p, q = (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant
        if p >= 0 and q >= 0:
            return p, q
    # The optimum is on an edge: the better of the two one-parameter fits (Lawson & Hanson 1974).
    return (0.0, b / bb) if bb and b * b / bb > a * a / aa else (a / aa, 0.0)
