"""Student's t and χ², without SciPy."""

import math
from functools import lru_cache
from statistics import NormalDist

_EXACT_UP_TO = 40


def cdf(t: float, df: int) -> float:
    """P(T ≤ t) for T of Student's t with `df` degrees of freedom (a whole number, at least 1).

    Source: Abramowitz & Stegun 26.7.3 (odd) and 26.7.4 (even), finite sums in θ = atan(t / √df). Exact up
    to rounding. Unitless.
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
    """The t with P(T ≤ t) = p, for 0 < p < 1. Unitless.

    Up to 40 degrees of freedom by bisection of `cdf`; above, the expansion of Abramowitz & Stegun 26.7.5
    around the normal quantile, there right to 1e-5 for p ≤ 0.9999.
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
    """P(X > x) for X of χ² with `df` degrees of freedom (a whole number, at least 1). Unitless.

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
