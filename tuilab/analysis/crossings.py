"""Where two cost curves cross: the significant changes of sign of their log ratio, each with an interval."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tuilab.analysis.autocorrelation import MIN_SAMPLES, rank_autocorrelation
from tuilab.analysis.location import Location, locate
from tuilab.analysis.memory import remembered
from tuilab.analysis.processes import combined, spans
from tuilab.analysis.ratio import log_ratios
from tuilab.analysis.student import t_quantile

Timings = Mapping[int, Mapping[int, float]]
"""Of one arm: size → round → seconds per call."""

_ByRound = tuple[tuple[int, float], ...]

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Place:
    """One size and the mean log ratio of a over b there."""

    size: int
    ratio: Location

    @property
    def error(self) -> float:
        """Standard error of the mean log ratio; infinite where a single round cannot tell it."""
        return math.inf if self.ratio.error is None else self.ratio.error

    def sign(self, level: float) -> int:
        """+1 where a is slower, −1 where a is faster, 0 where the interval at `level` holds equality."""
        half = self.ratio.half_width(level)
        if half is None or abs(self.ratio.mean) <= half:
            return 0
        return 1 if self.ratio.mean > 0 else -1


@dataclass(frozen=True, slots=True)
class Crossing:
    """One change of sign. Sizes in the axis's unit.

    at, low, high: the size and its 95 % interval. below, above: the nearest sizes that were measured on
    either side of `at`. curvature: how far (as a log of size) other ways of interpolating lie from `at`;
    the interval holds them. overtakes: true where a is the faster from there on, false where b is.
    """

    at: float
    low: float
    high: float
    below: int
    above: int
    curvature: float
    overtakes: bool

    @property
    def half_width(self) -> float:
        """The larger distance from `at` to an end of the interval, as a log of size."""
        return max(math.log(self.high / self.at), math.log(self.at / self.low))


def places(a: Timings, b: Timings, begun: Sequence[int] = ()) -> list[Place]:
    """The sizes (positive, ascending) at which both arms have rounds in common.

    begun: the round with which each further process began (`processes.combined`). The autocorrelation of the
    log ratios is that of one process, so its estimates at all sizes are averaged.
    """
    sizes = [size for size in sorted(a.keys() & b.keys()) if size > 0]
    logs = {size: _paired(tuple(a[size].items()), tuple(b[size].items())) for size in sizes}
    rhos = [rho for samples, rho in logs.values() if len(samples) >= MIN_SAMPLES]
    rho = sum(rhos) / len(rhos) if rhos else 0.0
    found = {size: _located(samples, rho) for size, (samples, _) in logs.items()}
    if begun:
        found = {s: combined(whole, _by_process(a[s], b[s], begun, rho)) for s, whole in found.items()}
    return [Place(size, ratio) for size, ratio in found.items() if ratio is not None]


def _by_process(
    a: Mapping[int, float], b: Mapping[int, float], begun: Sequence[int], rho: float
) -> list[Location | None]:
    """The mean log ratio within each process."""
    parts = [{at: a[at] for at in a if low <= at < high} for low, high in spans(begun, max(a, default=0))]
    return [_located(tuple(log_ratios(part, b)), rho) for part in parts]


@remembered
def _paired(a: _ByRound, b: _ByRound) -> tuple[tuple[float, ...], float]:
    """The log ratios and their autocorrelation."""
    logs = tuple(log_ratios(dict(a), dict(b)))
    return logs, rank_autocorrelation(logs)


_located = remembered(locate)


def signs(at: Sequence[Place]) -> list[int]:
    """The sign at each place, of a family of tests that together err in at most 5 % (Bonferroni)."""
    level = 1 - (1 - LEVEL) / max(1, len(at))
    return [place.sign(level) for place in at]


def crossings(at: Sequence[Place]) -> list[Crossing]:
    """Every change of sign between two places whose ratios both differ from 1 significantly, in order.

    Places between them that could be either leave the bracket as wide as it is.
    """
    known = [(index, sign) for index, sign in enumerate(signs(at)) if sign]
    return [
        _crossing(at[i : j + 1], overtakes=before > 0)
        for (i, before), (j, after) in pairwise(known)
        if before != after
    ]


def _crossing(bracket: Sequence[Place], overtakes: bool) -> Crossing:
    """The crossing inside a bracket whose first and last place differ from 1 in opposite directions.

    Between neighbouring sizes the log ratio L is taken as linear in log size (so for power laws it is). `at`
    is the zero of the mean L, or the middle of the outermost zeros where noise makes several. The interval
    is Fieller's: every size at which the interpolated L does not differ from 0 at 95 %. Unlike a mean of one
    crossing a round it divides by no noisy slope. Sizes are taken as independent. The interval is then
    stretched to what costs of the form α + β · size could make of the same ratios (`_straight_lines`), so
    that a bracket too wide for interpolation shows as a wide interval.
    """
    zeros: list[float] = []
    bounds: list[float] = []
    held: list[float] = []
    for left, right in pairwise(bracket):
        held += _held(left, right)
        if left.ratio.mean * right.ratio.mean <= 0 and left.ratio.mean != right.ratio.mean:
            share = left.ratio.mean / (left.ratio.mean - right.ratio.mean)
            zeros.append(_between(left.size, right.size, share))
            bounds += [math.log(bound) - zeros[-1] for bound in _straight_lines(left, right)]
    at = (zeros[0] + zeros[-1]) / 2
    low = max(min([*held, at]) + min(0.0, *bounds), math.log(bracket[0].size))
    high = min(max([*held, at]) + max(0.0, *bounds), math.log(bracket[-1].size))
    below = max(p.size for p in bracket[:-1] if math.log(p.size) <= at + 1e-12)
    above = min(p.size for p in bracket[1:] if p.size > below)
    size, ends = math.exp(at), (math.exp(low), math.exp(high))
    curvature = max(abs(bound) for bound in bounds)
    return Crossing(size, min(ends[0], size), max(ends[1], size), below, above, curvature, overtakes)


def _straight_lines(left: Place, right: Place) -> tuple[float, float]:
    """The two extremes of where costs α + β · size with these two ratios can be equal.

    r = (α + βx) / (α' + β'x) through two points leaves one parameter free, and the size at which r = 1 moves
    one way with it: where r falls, from β = 0, where 1/r is linear in x, to α' = 0, where r is linear in 1/x;
    where r rises, the same of 1/r.
    """
    rises = right.ratio.mean > left.ratio.mean
    r, s = (max(-600.0, min(600.0, (-1 if rises else 1) * place.ratio.mean)) for place in (left, right))
    inverse = math.expm1(-r) / (math.expm1(-r) - math.expm1(-s))
    direct = math.expm1(r) / (math.expm1(r) - math.expm1(s))
    x, y = left.size, right.size
    return x + (y - x) * inverse, 1 / (1 / x + (1 / y - 1 / x) * direct)


def _between(low: int, high: int, share: float) -> float:
    return math.log(low) + share * (math.log(high) - math.log(low))


def _held(left: Place, right: Place) -> list[float]:
    """The ends (logs of size) of what lies between two places and is not told from a ratio of 1 at 95 %.

    At the share w of the way the mean is m + w Δ and its variance (1 − w)² s² + w² r², so the ends solve a
    quadratic in w (Fieller 1954). t has the degrees of freedom of Welch and Satterthwaite at mid-way.
    """
    m, delta = left.ratio.mean, right.ratio.mean - left.ratio.mean
    if not (math.isfinite(left.error) and math.isfinite(right.error)):
        return [math.log(left.size), math.log(right.size)]
    s, r = left.error**2, right.error**2
    spread = s**2 / left.ratio.df + r**2 / right.ratio.df
    t = t_quantile((1 + LEVEL) / 2, max(1, int((s + r) ** 2 / spread)) if spread else 1_000)
    a, b, c = delta**2 - t**2 * (s + r), 2 * m * delta + 2 * t**2 * s, m**2 - t**2 * s
    ends = sorted({0.0, 1.0, *(w for w in _roots(a, b, c) if 0 < w < 1)})
    held: list[float] = []
    for start, stop in pairwise(ends):
        middle = (start + stop) / 2
        if a * middle**2 + b * middle + c <= 0:
            held += [start, stop]
    return [_between(left.size, right.size, w) for w in held]


def _roots(a: float, b: float, c: float) -> list[float]:
    """The real roots of a w² + b w + c."""
    if not a:
        return [-c / b] if b else []
    square = b * b - 4 * a * c
    if square < 0:
        return []
    # The form that does not cancel (Press et al., Numerical Recipes, 5.6).
    q = -(b + math.copysign(math.sqrt(square), b)) / 2
    return [q / a, c / q] if q else [0.0]
