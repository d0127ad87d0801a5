"""Where one arm overtakes another along an axis: in numbers, in words, and what to measure next."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuilab.analysis.crossings import Crossing, Place, Timings, crossings, places, signs
from tuilab.analysis.ratio import from_location
from tuilab.analysis.student import t_quantile
from tuilab.analysis.words import listed, on_axis, size, size_interval, times
from tuilab.model.result import Crossover

CLOSE = math.log(1.1)
NOISE_RULES = 0.25
REACH = math.log(16)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two arms to compare: id and name of each, and the axis (a parameter's name) in the sentences."""

    a: str
    b: str
    a_label: str = "a"
    b_label: str = "b"
    axis: str = "size"


@dataclass(frozen=True, slots=True)
class Step:
    """What a bisection does next. size: measure here; null: no further size is needed.

    more_rounds: noise, not the distance between sizes, limits the interval. reason: in words.
    """

    size: int | None
    reason: str
    more_rounds: bool = False


def crossover(a: Timings, b: Timings, pair: Pair, begun: Sequence[int] = ()) -> Crossover:
    """The crossover of two arms, from seconds per call by size and round. begun: as for `crossings.places`.

    found: one change of sign. several: more, `at` being the first. none: one arm is significantly faster
    wherever they differ. beyond: so too, but at the largest sizes the gap closes. unknown: no size
    tells the arms apart. In the result `a` is the arm that overtakes (or would), which may be `pair.b`.
    """
    at = places(a, b, begun)
    found = crossings(at)
    if found:
        return _found(found, pair)
    known = [sign for sign in signs(at) if sign]
    if not known:
        return _unknown(at, pair)
    return _one_sided(at, known[-1], pair)


def next_size(
    a: Timings, b: Timings, precision: float = 0.05, allowed: Callable[[float], int] = round
) -> Step:
    """Which size a sweep should measure next to know the crossover to ± `precision` (a share of it).

    allowed: the nearest size that the parameter may take. The new size is the present estimate: next to a
    measured place interpolation hardly errs, so one or two sizes do where halving the bracket takes five.
    Each crossing is narrowed in turn, the first one first.
    """
    found = crossings(places(a, b))
    if not found:
        return Step(None, "no significant change of sign to narrow")
    step = Step(None, "")
    for crossing in found:
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
        return Step(None, f"known to ± {100 * math.expm1(crossing.half_width):.1f} %")
    candidate = allowed(at)
    if not below < candidate < above:
        candidate = allowed(math.sqrt(below * above))
    if not below < candidate < above:
        return Step(None, f"{below:,} and {above:,} are neighbours")
    if supported and crossing.curvature <= NOISE_RULES * statistical:
        return Step(None, "more rounds would narrow it, more sizes would not", more_rounds=True)
    return Step(candidate, f"between {below:,} and {above:,}")


def _where(crossing: Crossing, axis: str) -> str:
    half = (crossing.high - crossing.low) / 2
    return on_axis(axis, size(crossing.at, half), size_interval(crossing.low, crossing.high))


def _found(found: Sequence[Crossing], pair: Pair) -> Crossover:
    parts = []
    for crossing in found:
        names = (pair.a_label, pair.b_label) if crossing.overtakes else (pair.b_label, pair.a_label)
        parts.append(f"{names[0]} overtakes {names[1]} at {_where(crossing, pair.axis)}")
    first = found[0]
    return Crossover(
        a=pair.a if first.overtakes else pair.b,
        b=pair.b if first.overtakes else pair.a,
        at=first.at,
        ci95=(first.low, first.high),
        status="found" if len(found) == 1 else "several",
        sentence=listed(parts) + ".",
    )


def _unknown(at: Sequence[Place], pair: Pair) -> Crossover:
    if any(math.isfinite(place.error) for place in at):
        sentence = f"No size tells {pair.a_label} from {pair.b_label}: they are equal within the noise."
    else:
        sentence = f"Too few rounds to compare {pair.a_label} with {pair.b_label}."
    return Crossover(a=pair.a, b=pair.b, at=None, ci95=None, status="unknown", sentence=sentence)


def _one_sided(at: Sequence[Place], sign: int, pair: Pair) -> Crossover:
    ahead, behind = (pair.b_label, pair.a_label) if sign > 0 else (pair.a_label, pair.b_label)
    ids = (pair.a, pair.b) if sign > 0 else (pair.b, pair.a)
    first, last = at[0], at[-1]
    end = on_axis(pair.axis, size(last.size))
    level = signs(at)[-1]
    if level and not _closes(at):
        lead = [times(from_location(p.ratio).ratio ** (1 if sign > 0 else -1)) for p in (first, last)]
        spread = f"{lead[0]} at {size(first.size)}, {lead[1]} at {size(last.size)}"
        sentence = f"No crossover up to {end}: {ahead} is the faster ({spread})."
        if len(at) == 1:
            sentence = f"At {end} {ahead} is {lead[0]} faster; one size shows no crossover."
        return Crossover(a=ids[0], b=ids[1], at=None, ci95=None, status="none", sentence=sentence)
    if level:
        lead_now = times(from_location(last.ratio).ratio ** (1 if sign > 0 else -1))
        state = f"{ahead} is still {lead_now} faster there, but the gap closes"
    else:
        state = f"{ahead} is faster below, and there the two are equal within the noise"
    sentence = f"{behind} does not overtake {ahead} up to {end}: {state}."
    return Crossover(a=ids[0], b=ids[1], at=None, ci95=None, status="beyond", sentence=sentence)


def _closes(at: Sequence[Place]) -> bool:
    """Whether the gap shrinks towards the largest size, so that it would be gone by 16 times that size.

    Against one and two sizes before: smaller at 95 %, and the straight line through both log ratios over log
    size reaches 0 in time.
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
