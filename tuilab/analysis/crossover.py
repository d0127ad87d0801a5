"""Finds the size at which two cost curves cross, from sign changes of their log ratio. Also chooses the next
size to measure.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tuilab.analysis.processes import combined, spans
from tuilab.analysis.ratios import RatioEstimate, from_location, log_ratios
from tuilab.analysis.statistics import (
    CORRELATED_FROM,
    Location,
    chi_squared_tail,
    locate,
    rank_autocorrelation,
    remembered,
    t_quantile,
)

Timings = Mapping[int, Mapping[int, float]]
"""The timings of one arm: size → round → seconds per call."""

_ByRound = tuple[tuple[int, float], ...]

LEVEL = 0.95
LASTING = 0.5
"""Assumed standard deviation of slow noise, as a share of the standard deviation of a single round's noise.
Slow noise shifts all rounds of a size by the same factor.

Calibrated on simulated sweeps of equal arms (`tests/analysis/test_equal_arms.py`): with noise of 5 to 30%,
half of whose variance is slow, at most 5% of the sweeps show a crossover.
"""


GAP = 0.782
"""Expected square of `_outside` for independent standard normal values, computed from order statistics."""
NEAR = 0.25
"""Three sizes count as near each other if the product of the two gaps between them, in logs of size, is at
most this.
"""
BENT = 1 / 4
"""Maximum second derivative, over log size, of the log ratio of two costs α + β · size."""
LEAST_DF = 4
"""Fewest degrees of freedom of the scatter. With fewer, the t quantile is so large that a single outlying
size hides every crossover. Calibrated on the same sweeps as `LASTING`.
"""
BY_CHANCE = 0.01
"""Probability of reporting scatter between sizes when there is none."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Variation between sizes, which intervals over rounds do not include: the standard deviation of a log
    ratio, and its degrees of freedom.
    """

    deviation: float = 0.0
    df: int = 1

    def half_width(self, level: float) -> float:
        return t_quantile((1 + level) / 2, self.df) * self.deviation if self.deviation else 0.0


@dataclass(frozen=True, slots=True)
class SizeRatio:
    """The mean logarithm of a's time over b's at one size.

    shown: the ratio that sentences print; by default, `ratio`. note: a clause if the quotient of the medians
    is outside its interval. scatter: the variation between the sizes of the sweep.
    """

    size: int
    ratio: Location
    shown: RatioEstimate | None = None
    note: str = ""
    scatter: Scatter = Scatter()

    @property
    def estimate(self) -> RatioEstimate:
        return self.shown or from_location(self.ratio)

    @property
    def printed_sign(self) -> int:
        """The sign of the printed ratio (`RatioEstimate.sign`), so that no sentence contradicts the
        result.
        """
        return self.estimate.sign

    @property
    def error(self) -> float:
        """Standard error of the mean log ratio; infinite for a single round."""
        return math.inf if self.ratio.error is None else self.ratio.error

    def sign(self, level: float) -> int:
        """Return +1 if a is slower, −1 if a is faster, 0 if the interval at confidence `level` or the printed
        interval contains 1.
        """
        return self._as_printed(_sign(self.ratio, level))

    def _as_printed(self, sign: int) -> int:
        return sign if sign == self.printed_sign else 0

    def lead(self, level: float) -> int:
        """Return `sign`, or 0 if a disturbance of the whole size could explain the difference.

        Such a disturbance shifts all rounds of a size alike, so no interval over rounds shows it. Its
        standard deviation is assumed to be `LASTING` times that of one round, and is added in quadrature to
        the error of the mean, as is the scatter between the sizes.
        """
        if self.ratio.error is None:
            return 0
        wider = math.hypot(1.0, LASTING * math.sqrt(self.ratio.n))
        ratio = replace(self.ratio, error=self.ratio.error * wider)
        return self._as_printed(_sign(ratio, level, self.scatter.half_width(level)))

    @property
    def scattered_error(self) -> float:
        """Standard error of the mean log ratio, enlarged to include the scatter between sizes at 95%
        confidence.
        """
        if self.ratio.error is None:
            return math.inf
        t = t_quantile((1 + LEVEL) / 2, self.ratio.df)
        return math.hypot(self.error, self.scatter.half_width(LEVEL) / t)


def _sign(ratio: Location, level: float, more: float = 0.0) -> int:
    half = ratio.half_width(level)
    if half is None or abs(ratio.mean) <= math.hypot(half, more):
        return 0
    return 1 if ratio.mean > 0 else -1


@dataclass(frozen=True, slots=True)
class Crossing:
    """A point on the axis at which the faster arm changes. Sizes are in the axis's unit.

    at, low, high: the size and its 95% interval. below, above: the nearest measured sizes on either side of
    `at`. curvature: distance (as a log of size) from `at` to the farthest result of other interpolations; the
    interval includes these results. overtakes: True if a is faster above `at`, False if b is.
    scattered: True if the interval covers scatter between the sizes, which more sizes can narrow.
    """

    at: float
    low: float
    high: float
    below: int
    above: int
    curvature: float
    overtakes: bool
    scattered: bool = False

    @property
    def half_width(self) -> float:
        """The distance from `at` to the farther end of the interval, as a log of size."""
        return max(math.log(self.high / self.at), math.log(self.at / self.low))


Shown = Mapping[int, tuple[RatioEstimate, str]]
"""Size → the ratio of the two arms as a run's answer prints it, and its note (`SizeRatio`)."""


def places(a: Timings, b: Timings, begun: Sequence[int] = (), shown: Shown | None = None) -> list[SizeRatio]:
    """Return the mean log ratio at each positive size at which the arms share rounds, in ascending order.

    begun: the first round of each process after the first (`processes.combined`). The autocorrelation of the
    log ratios is averaged over all sizes, because it is a property of the process.
    """
    sizes = [size for size in sorted(a.keys() & b.keys()) if size > 0]
    logs = {size: _paired(tuple(a[size].items()), tuple(b[size].items())) for size in sizes}
    rhos = [rho for samples, rho in logs.values() if len(samples) >= CORRELATED_FROM]
    rho = sum(rhos) / len(rhos) if rhos else 0.0
    located = {size: _located(samples, rho) for size, (samples, _) in logs.items()}
    if begun:
        located = {s: combined(whole, _by_process(a[s], b[s], begun, rho)) for s, whole in located.items()}
    at = [
        SizeRatio(size, ratio, *(shown or {}).get(size, (None, "")))
        for size, ratio in located.items()
        if ratio is not None
    ]
    scatter = scatter_of(at)
    return [replace(place, scatter=scatter) for place in at]


def scatter_of(at: Sequence[SizeRatio]) -> Scatter:
    """Return the variation between neighboring sizes that the errors of their means do not explain. Uses the
    larger of two estimates.

    For costs α + β · size without scatter, the ratio rises or falls along the whole axis. Each log ratio lies
    between the log ratios of the neighboring sizes, and those of three sizes near each other lie almost on a
    line. With only two sizes, the scatter is 0.
    """
    known = [place for place in at if math.isfinite(place.error)]
    triples = list(zip(known, known[1:], known[2:], strict=False))
    near = [found for triple in triples if (found := _off_the_line(*triple)) is not None]
    return max(
        _beyond([(_outside(*t) ** 2 / GAP, t[1].error ** 2) for t in triples]),
        _beyond(near),
        key=lambda found: found.deviation,
    )


def _beyond(squares: Sequence[tuple[float, float]]) -> Scatter:
    """Return the scatter that explains why the observed variance exceeds the expected variance; 0 if chance
    may explain the difference.

    squares: pairs of observed and expected variance.
    """
    k = len(squares)
    found, explained = (sum(each) / k for each in zip(*squares, strict=True)) if k else (0.0, 0.0)
    if not k or found <= explained:
        return Scatter()
    if explained and chi_squared_tail(k * found / explained, k) > BY_CHANCE:
        return Scatter()
    return Scatter(math.sqrt(found - explained), max(k, LEAST_DF))


def _outside(before: SizeRatio, place: SizeRatio, after: SizeRatio) -> float:
    """Return how far a size's log ratio lies outside the range between its neighbors' log ratios; 0 inside
    the range.
    """
    low, high = sorted((before.ratio.mean, after.ratio.mean))
    return max(low - place.ratio.mean, place.ratio.mean - high, 0.0)


def _off_the_line(before: SizeRatio, place: SizeRatio, after: SizeRatio) -> tuple[float, float] | None:
    """Estimate the variance of a log ratio from how far three sizes' log ratios lie from a straight line.
    Return the estimate, and the variance that their errors alone would cause.

    Returns None unless the sizes are near each other.
    """
    left, right = math.log(place.size / before.size), math.log(after.size / place.size)
    if left * right > NEAR:
        return None
    w = left / (left + right)
    off = abs(place.ratio.mean - (1 - w) * before.ratio.mean - w * after.ratio.mean)
    weights = 1.0, (1 - w) ** 2, w**2
    errors = (each.error**2 for each in (place, before, after))
    explained = sum(weight * square for weight, square in zip(weights, errors, strict=True))
    return max(0.0, off - BENT * left * right / 2) ** 2 / sum(weights), explained / sum(weights)


def _by_process(
    a: Mapping[int, float], b: Mapping[int, float], begun: Sequence[int], rho: float
) -> list[Location | None]:
    parts = [{at: a[at] for at in a if low <= at < high} for low, high in spans(begun, max(a, default=0))]
    return [_located(tuple(log_ratios(part, b)), rho) for part in parts]


@remembered
def _paired(a: _ByRound, b: _ByRound) -> tuple[tuple[float, ...], float]:
    logs = tuple(log_ratios(dict(a), dict(b)))
    return logs, rank_autocorrelation(logs)


_located = remembered(locate)


def signs(at: Sequence[SizeRatio]) -> list[int]:
    """Return the `sign` at each size, tested at a family-wise error of 5% (Bonferroni)."""
    return [place.sign(_level(at)) for place in at]


def leads(at: Sequence[SizeRatio]) -> list[int]:
    """Return the `lead` at each size, tested at the same level as `signs`."""
    return [place.lead(_level(at)) for place in at]


def _level(at: Sequence[SizeRatio]) -> float:
    return 1 - (1 - LEVEL) / max(1, len(at))


def crossings(at: Sequence[SizeRatio]) -> list[Crossing]:
    """Return every change of the lead, in order.

    Undecided sizes at a change widen its bracket. Returns an empty list if the lead alternates from size to
    size, or if a printed ratio outside the brackets contradicts the lead.
    """
    known = [(index, lead) for index, lead in enumerate(leads(at)) if lead]
    if jumps(at) or _is_contradicted(at, known):
        return []
    return [
        _crossing(at[i : j + 1], overtakes=before > 0)
        for (i, before), (j, after) in zip(known, known[1:], strict=False)
        if before != after
    ]


def _is_contradicted(at: Sequence[SizeRatio], known: Sequence[tuple[int, int]]) -> bool:
    """Return True if the printed ratio at some size contradicts the lead on both sides of that size."""
    edges = [(-1, known[0][1]), *known, (len(at), known[-1][1])] if known else []
    return any(
        before == after and any(place.printed_sign == -before for place in at[i + 1 : j])
        for (i, before), (j, after) in zip(edges, edges[1:], strict=False)
    )


def jumps(at: Sequence[SizeRatio]) -> bool:
    """Return True if the lead changes at one size and back at the next."""
    runs = [len(list(run)) for _, run in groupby(lead for lead in leads(at) if lead)]
    return any(length < 2 for length in runs[1:-1])


def _crossing(bracket: Sequence[SizeRatio], overtakes: bool) -> Crossing:
    """Return the crossing in a bracket of sizes; the ratios at its two ends differ from 1 in opposite
    directions.

    Assumes that the log ratio L is linear in log size within the bracket (exact for power laws). `at` is the
    zero of the mean L, or the middle of the outermost zeros if noise causes several. The interval is
    Fieller's: every size at which the interpolated L does not differ from 0 at 95%. Unlike the mean of one
    crossing per round, this interval requires no division by a noisy slope. Treats the sizes as independent.
    To allow for curvature, the interval is extended to the crossings of costs α + β · size with the same
    ratios (`_straight_lines`). It becomes wide if the bracket is too wide for interpolation.
    """
    zeros: list[float] = []
    bounds: list[float] = []
    held: list[float] = []
    for left, right in zip(bracket, bracket[1:], strict=False):
        held += _undecided_range(left, right)
        if left.ratio.mean * right.ratio.mean <= 0 and left.ratio.mean != right.ratio.mean:
            share = left.ratio.mean / (left.ratio.mean - right.ratio.mean)
            zeros.append(_between(left.size, right.size, share))
            bounds += [math.log(bound) - zeros[-1] for bound in _straight_lines(left, right)]
    at = (zeros[0] + zeros[-1]) / 2
    # The interval also covers sizes at which the arms differ in the direction opposite to the crossing.
    way = 1 if overtakes else -1
    held += [math.log(p.size) for p in bracket[1:-1] if way * p.printed_sign * (at - math.log(p.size)) < 0]
    low = max(min([*held, at]) + min(0.0, *bounds), math.log(bracket[0].size))
    high = min(max([*held, at]) + max(0.0, *bounds), math.log(bracket[-1].size))
    below = max(p.size for p in bracket[:-1] if math.log(p.size) <= at + 1e-12)
    above = min(p.size for p in bracket[1:] if p.size > below)
    size, ends = math.exp(at), (math.exp(low), math.exp(high))
    return Crossing(
        at=size,
        low=min(ends[0], size),
        high=max(ends[1], size),
        below=below,
        above=above,
        curvature=max(abs(bound) for bound in bounds),
        overtakes=overtakes,
        scattered=bracket[0].scatter.deviation > 0,
    )


def _straight_lines(left: SizeRatio, right: SizeRatio) -> tuple[float, float]:
    """Return the smallest and the largest size at which costs α + β · size with these two ratios can be
    equal.

    r = (α + βx) / (α' + β'x) through two points leaves one parameter free, and the size at which r = 1 is
    monotonic in it. If r falls, the extremes are β = 0, where 1/r is linear in x, and α' = 0, where r is
    linear in 1/x. If r rises, the same holds for 1/r.
    """
    rises = right.ratio.mean > left.ratio.mean
    r, s = (max(-600.0, min(600.0, (-1 if rises else 1) * place.ratio.mean)) for place in (left, right))
    inverse = math.expm1(-r) / (math.expm1(-r) - math.expm1(-s))
    direct = math.expm1(r) / (math.expm1(r) - math.expm1(s))
    x, y = left.size, right.size
    return x + (y - x) * inverse, 1 / (1 / x + (1 / y - 1 / x) * direct)


def _between(low: int, high: int, share: float) -> float:
    return math.log(low) + share * (math.log(high) - math.log(low))


def _undecided_range(left: SizeRatio, right: SizeRatio) -> list[float]:
    """Return the ends (logs of size) of the range between two sizes in which the ratio does not differ from 1
    at 95%.

    At a share w of the way, the mean is m + w Δ and its variance (1 − w)² s² + w² r², so the ends solve a
    quadratic in w (Fieller 1954). t has the Welch–Satterthwaite degrees of freedom at the midpoint.
    """
    m, delta = left.ratio.mean, right.ratio.mean - left.ratio.mean
    if not (math.isfinite(left.error) and math.isfinite(right.error)):
        return [math.log(left.size), math.log(right.size)]
    s, r = left.scattered_error**2, right.scattered_error**2
    spread = s**2 / left.ratio.df + r**2 / right.ratio.df
    t = t_quantile((1 + LEVEL) / 2, max(1, int((s + r) ** 2 / spread)) if spread else 1_000)
    a, b, c = delta**2 - t**2 * (s + r), 2 * m * delta + 2 * t**2 * s, m**2 - t**2 * s
    ends = sorted({0.0, 1.0, *(w for w in _roots(a, b, c) if 0 < w < 1)})
    held: list[float] = []
    for start, stop in zip(ends, ends[1:], strict=False):
        middle = (start + stop) / 2
        if a * middle**2 + b * middle + c <= 0:
            held += [start, stop]
    return [_between(left.size, right.size, w) for w in held]


def _roots(a: float, b: float, c: float) -> list[float]:
    """Return the real roots of a w² + b w + c."""
    if not a:
        return [-c / b] if b else []
    square = b * b - 4 * a * c
    if square < 0:
        return []
    # The form without cancellation (Press et al., Numerical Recipes, 5.6).
    q = -(b + math.copysign(math.sqrt(square), b)) / 2
    return [q / a, c / q] if q else [0.0]


CLOSE = math.log(1.1)
NOISE_RULES = 0.25
REACH = math.log(16)


@dataclass(frozen=True, slots=True)
class Step:
    """The next step of the search. size: the size to measure, if any. reason: why, in words."""

    size: int | None
    reason: str


def next_size(
    a: Timings, b: Timings, precision: float = 0.05, allowed: Callable[[float], int] = round
) -> Step:
    """Return the size to measure next, to find the crossover within a relative error of `precision`.

    allowed: returns the nearest size that the parameter may take. The new size is the current estimate of the
    crossover: interpolation is accurate close to a measured size, so one or two new sizes suffice, whereas
    bisection takes five. If there are several crossings, they are refined in order.
    """
    changes = crossings(places(a, b))
    if not changes:
        return Step(None, "no significant crossover to narrow down")
    step = Step(None, "")
    for crossing in changes:
        step = _step(crossing, math.log1p(precision), allowed)
        if step.size is not None:
            return step
    return step


def _step(crossing: Crossing, precision: float, allowed: Callable[[float], int]) -> Step:
    below, above, at = crossing.below, crossing.above, crossing.at
    nearest = min(math.log(at / below), math.log(above / at))
    statistical = crossing.half_width - crossing.curvature
    supported = nearest <= max(CLOSE, statistical)
    if supported and crossing.half_width <= precision:
        return Step(None, f"known to ± {100 * math.expm1(crossing.half_width):.1f}%")
    candidate = allowed(at)
    if not below < candidate < above:
        candidate = allowed(math.sqrt(below * above))
    if not below < candidate < above:
        return Step(None, f"no size lies between {below:,} and {above:,}")
    if supported and crossing.curvature <= NOISE_RULES * statistical and not crossing.scattered:
        return Step(None, "only more rounds, not more sizes, can narrow the interval")
    return Step(candidate, f"between {below:,} and {above:,}")


def closes(at: Sequence[SizeRatio]) -> bool:
    """Return True if the two arms approach each other toward the largest size, and would be equal by 16 times
    that size.

    At the largest size, the log ratio must be closer to 0, with 95% confidence, than at one of the two
    previous sizes. The straight line through both log ratios over log size must reach 0 by 16 times the
    largest size.
    """
    last = at[-1]
    for earlier in at[-3:-1]:
        error = math.hypot(last.error, earlier.error)
        narrower = abs(earlier.ratio.mean) - abs(last.ratio.mean)
        if not math.isfinite(error) or narrower <= 0:
            continue
        certain = narrower > t_quantile(0.975, min(last.ratio.df, earlier.ratio.df)) * error
        slope = narrower / math.log(last.size / earlier.size)
        if certain and abs(last.ratio.mean) / slope <= REACH:
            return True
    return False
