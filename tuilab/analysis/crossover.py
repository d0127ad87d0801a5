"""Finds the size at which two cost curves cross, from sign changes of their log ratio. Also chooses the next
size to measure.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tuilab.analysis.processes import combined, spans
from tuilab.analysis.ratios import from_location, log_ratios
from tuilab.analysis.statistics import (
    CORRELATED_FROM,
    Location,
    locate,
    rank_autocorrelation,
    remembered,
    t_quantile,
)
from tuilab.analysis.words import listed, on_axis, size, size_interval
from tuilab.model.result import Crossover

Timings = Mapping[int, Mapping[int, float]]
"""The timings of one arm: size → round → seconds per call."""

_ByRound = tuple[tuple[int, float], ...]

LEVEL = 0.95
LASTING = 0.5
"""Standard deviation of slow noise, which shifts all rounds of a size alike, as a share of the noise of one
round.

Calibrated on simulated sweeps of equal arms (`tests/analysis/test_equal_arms.py`): if slow noise makes up
half of the variance of noise of 5 to 30%, at most 5% of the sweeps show a crossover.
"""


@dataclass(frozen=True, slots=True)
class SizeRatio:
    """The mean logarithm of a's time over b's at one size."""

    size: int
    ratio: Location

    @property
    def error(self) -> float:
        """Standard error of the mean log ratio; infinite for a single round."""
        return math.inf if self.ratio.error is None else self.ratio.error

    def sign(self, level: float) -> int:
        """Return +1 if a is slower, −1 if a is faster, 0 if the confidence interval at `level` contains a
        ratio of 1.
        """
        return _sign(self.ratio, level)

    def lead(self, level: float) -> int:
        """Return `sign`, or 0 if a disturbance during all rounds of this size could have caused the
        difference.

        Such a disturbance shifts every round of a size equally, so no interval over rounds shows it. Its
        standard deviation is assumed to be `LASTING` times that of one round, and is added in quadrature to
        the error of the mean.
        """
        if self.ratio.error is None:
            return 0
        wider = math.hypot(1.0, LASTING * math.sqrt(self.ratio.n))
        return _sign(replace(self.ratio, error=self.ratio.error * wider), level)


def _sign(ratio: Location, level: float) -> int:
    half = ratio.half_width(level)
    if half is None or abs(ratio.mean) <= half:
        return 0
    return 1 if ratio.mean > 0 else -1


@dataclass(frozen=True, slots=True)
class Crossing:
    """One change of the faster arm along the axis. Sizes are in the axis's unit.

    at, low, high: the size and its 95% interval. below, above: the nearest measured sizes on either side of
    `at`. curvature: distance (as a log of size) from `at` to the farthest result of other interpolations; the
    interval includes these results. overtakes: True if a is faster above `at`, False if b is.
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
        """The distance from `at` to the farther end of the interval, as a log of size."""
        return max(math.log(self.high / self.at), math.log(self.at / self.low))


def places(a: Timings, b: Timings, begun: Sequence[int] = ()) -> list[SizeRatio]:
    """Return the mean log ratio at each positive size at which the arms share rounds, in ascending order.

    begun: the first round of each process after the first (`processes.combined`). The autocorrelation of the
    log ratios is a property of the process, so its estimates at all sizes are averaged.
    """
    sizes = [size for size in sorted(a.keys() & b.keys()) if size > 0]
    logs = {size: _paired(tuple(a[size].items()), tuple(b[size].items())) for size in sizes}
    rhos = [rho for samples, rho in logs.values() if len(samples) >= CORRELATED_FROM]
    rho = sum(rhos) / len(rhos) if rhos else 0.0
    located = {size: _located(samples, rho) for size, (samples, _) in logs.items()}
    if begun:
        located = {s: combined(whole, _by_process(a[s], b[s], begun, rho)) for s, whole in located.items()}
    return [SizeRatio(size, ratio) for size, ratio in located.items() if ratio is not None]


def _by_process(
    a: Mapping[int, float], b: Mapping[int, float], begun: Sequence[int], rho: float
) -> list[Location | None]:
    """Return the mean log ratio within each process."""
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
    """Return the `lead` at each size, tested at the same level as `signs`.

    Only a lead can support a crossover.
    """
    return [place.lead(_level(at)) for place in at]


def _level(at: Sequence[SizeRatio]) -> float:
    return 1 - (1 - LEVEL) / max(1, len(at))


def crossings(at: Sequence[SizeRatio]) -> list[Crossing]:
    """Return every change of the lead that persists at the sizes on both sides, in order; an empty list if
    the lead alternates.

    Undecided sizes at a change widen its bracket.
    """
    known = [(index, lead) for index, lead in enumerate(leads(at)) if lead]
    if jumps(at):
        return []
    return [
        _crossing(at[i : j + 1], overtakes=before > 0)
        for (i, before), (j, after) in zip(known, known[1:], strict=False)
        if before != after
    ]


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
    crossing per round, this does not divide by a noisy slope. Treats the sizes as independent. The interval
    is then extended to the crossings of costs α + β · size with the same ratios (`_straight_lines`); if the
    bracket is too wide for interpolation, this makes the interval wide.
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
    low = max(min([*held, at]) + min(0.0, *bounds), math.log(bracket[0].size))
    high = min(max([*held, at]) + max(0.0, *bounds), math.log(bracket[-1].size))
    below = max(p.size for p in bracket[:-1] if math.log(p.size) <= at + 1e-12)
    above = min(p.size for p in bracket[1:] if p.size > below)
    size, ends = math.exp(at), (math.exp(low), math.exp(high))
    curvature = max(abs(bound) for bound in bounds)
    return Crossing(size, min(ends[0], size), max(ends[1], size), below, above, curvature, overtakes)


def _straight_lines(left: SizeRatio, right: SizeRatio) -> tuple[float, float]:
    """Return the two extremes of the size at which costs α + β · size with these two ratios can be equal.

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
    s, r = left.error**2, right.error**2
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
class Pair:
    """Two arms to compare: their ids, and for sentences the arms' labels and the axis (a parameter's
    name).
    """

    a: str
    b: str
    a_label: str = "a"
    b_label: str = "b"
    axis: str = "size"


@dataclass(frozen=True, slots=True)
class Step:
    """The next step of the search. size: the size to measure; None if no further size is needed. reason: why,
    in words.
    """

    size: int | None
    reason: str


def crossover(a: Timings, b: Timings, pair: Pair, begun: Sequence[int] = ()) -> Crossover:
    """Return the crossover of two arms, from seconds per call by size and round.

    found: the lead changes once. several: it changes more than once; `at` is the first change. none: the same
    arm is faster at every size at which the arms differ significantly. beyond: as `none`, but the gap closes
    at the largest sizes. unknown: the arms do not differ significantly at any size, or the lead alternates
    between sizes.

    begun: as for `places`. In the result, `a` is the arm that overtakes or would overtake, which may be
    `pair.b`.
    """
    at = places(a, b, begun)
    changes = crossings(at)
    if changes:
        return _choose_crossing(changes, pair)
    known = signs(at) if len({*signs(at)} - {0}) == 1 else leads(at)
    if jumps(at) or len({*known} - {0}) != 1:
        return _unknown(at, pair)
    return _one_sided(at, known, pair)


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
        return Step(None, "no significant crossover to narrow")
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
    if supported and crossing.curvature <= NOISE_RULES * statistical:
        return Step(None, "only more rounds can narrow it, not more sizes")
    return Step(candidate, f"between {below:,} and {above:,}")


def _where(crossing: Crossing, axis: str) -> str:
    half = (crossing.high - crossing.low) / 2
    return on_axis(axis, size(crossing.at, half), size_interval(crossing.low, crossing.high))


def _choose_crossing(changes: Sequence[Crossing], pair: Pair) -> Crossover:
    parts = []
    for crossing in changes:
        names = (pair.a_label, pair.b_label) if crossing.overtakes else (pair.b_label, pair.a_label)
        parts.append(f"{names[0]} overtakes {names[1]} at {_where(crossing, pair.axis)}")
    first = changes[0]
    return Crossover(
        a=pair.a if first.overtakes else pair.b,
        b=pair.b if first.overtakes else pair.a,
        at=first.at,
        ci95=(first.low, first.high),
        status="found" if len(changes) == 1 else "several",
        sentence=listed(parts) + ".",
    )


def _unknown(at: Sequence[SizeRatio], pair: Pair) -> Crossover:
    known = [from_location(place.ratio) for place in at if math.isfinite(place.error)]
    if jumps(at):
        turns = sum(1 for _ in groupby(lead for lead in leads(at) if lead)) - 1
        sentence = (
            f"No crossover persists. {pair.a_label} and {pair.b_label} swap the lead {turns} times "
            "as the size grows."
        )
    elif known and all(ratio.alike for ratio in known):
        sentence = f"{pair.a_label} and {pair.b_label} are equal within the noise at every size."
    elif known:
        sentence = f"{pair.a_label} and {pair.b_label} cannot be told apart at any size."
    else:
        sentence = f"Too few rounds to compare {pair.a_label} with {pair.b_label}."
    return Crossover(a=pair.a, b=pair.b, at=None, ci95=None, status="unknown", sentence=sentence)


def _one_sided(at: Sequence[SizeRatio], known: Sequence[int], pair: Pair) -> Crossover:
    """Return the result for arms whose lead never changes. known: `leads` or `signs` of the sizes; all
    nonzero values are the same.
    """
    sign = max(known, key=abs)
    ahead, behind = (pair.b_label, pair.a_label) if sign > 0 else (pair.a_label, pair.b_label)
    ids = (pair.a, pair.b) if sign > 0 else (pair.b, pair.a)
    first, last = at[0], at[-1]
    end = on_axis(pair.axis, size(last.size))
    if known[-1] and not _closes(at):
        sure = at[next(i for i, each in enumerate(known) if each)]
        spread = ", ".join(
            f"{_lead(place, sign)} at {size(place.size)}" for place in (sure, last)[sure is last :]
        )
        below = f"; below {size(sure.size)} the two cannot be told apart" if sure is not first else ""
        sentence = f"No crossover up to {end}. {ahead} is faster than {behind} ({spread}){below}."
        if len(at) == 1:
            sentence = (
                f"At {end} {ahead} is {_lead(last, sign)} faster than {behind}. A single size cannot "
                "show a crossover."
            )
        return Crossover(a=ids[0], b=ids[1], at=None, ci95=None, status="none", sentence=sentence)
    if known[-1]:
        state = f"It is still {_lead(last, sign)} slower there, but the gap closes"
    else:
        rest = at[max(i for i, each in enumerate(known) if each) + 1 :]
        alike = all(from_location(place.ratio).alike for place in rest)
        text = "are equal within the noise" if alike else "cannot be told apart"
        on = "at" if len(rest) == 1 else "from"
        where = f"{on} {size(rest[0].size)}{' on' * (on == 'from')}"
        state = f"It is slower at smaller sizes; {where}, the two {text}"
    sentence = f"{behind} does not overtake {ahead} up to {end}. {state}."
    return Crossover(a=ids[0], b=ids[1], at=None, ci95=None, status="beyond", sentence=sentence)


def _lead(place: SizeRatio, sign: int) -> str:
    ratio = from_location(place.ratio)
    return (ratio if sign > 0 else ratio.turned).words


def _closes(at: Sequence[SizeRatio]) -> bool:
    """Return True if the gap shrinks toward the largest size and would be gone by 16 times that size.

    The gap must be smaller, with 95% confidence, than at one of the two previous sizes, and the straight line
    through both log ratios over log size must reach 0 by then.
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
