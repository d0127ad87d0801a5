"""Describes the crossover of two arms, from their ratio at each size."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from tuilab.analysis.crossover import Crossing, SizeRatio, Timings, closes, crossings, places, signs
from tuilab.analysis.words import capitalized, listed, on_axis, percent, size, size_interval
from tuilab.model.result import Crossover


@dataclass(frozen=True, slots=True)
class Pair:
    """Two arms to compare: their ids, and the labels and the axis (a parameter's name) for sentences."""

    a: str
    b: str
    a_label: str = "a"
    b_label: str = "b"
    axis: str = "size"


def crossover(a: Timings, b: Timings, pair: Pair, begun: Sequence[int] = ()) -> Crossover:
    """Return the crossover of two arms, from their seconds per call by size and round."""
    return crossover_of(places(a, b, begun), pair)


def crossover_of(at: Sequence[SizeRatio], pair: Pair) -> Crossover:
    """Return the crossover of two arms, from their ratio at each size.

    found: the lead changes once. several: it changes more than once; `at` is the first change. none: the same
    arm is faster at every size at which the arms differ significantly. beyond: as `none`, but the arms
    approach each other at the largest sizes. unknown: the arms do not differ significantly at any size, or
    the lead alternates between sizes, or it changes by no more than noise may explain.

    In the result, `a` is the arm that overtakes or would overtake, which may be `pair.b`.
    """
    if changes := crossings(at):
        return _choose_crossing(changes, at, pair)
    if len({*signs(at)} - {0}) != 1:
        return _unknown(at, pair)
    return _one_sided(at, pair)


def _whole(crossing: Crossing) -> tuple[int, int, int]:
    """Return the crossing rounded to a whole size, and the ends of its interval rounded outward to whole
    sizes.
    """
    return round(crossing.at), math.floor(crossing.low), math.ceil(crossing.high)


FEW = 10
"""An interval whose half-width is below this number of sizes is printed in whole sizes."""


def _where(crossing: Crossing, axis: str) -> str:
    at, low, high = _whole(crossing)
    if high - low == 1:
        return f"between {on_axis(axis, f'{low:,} and {high:,}')}"
    half = (high - low) / 2
    if half < FEW:
        return f"at {on_axis(axis, f'{at:,}', f'[{low:,} {high:,}]')}"
    return f"at {on_axis(axis, size(at, half), size_interval(low, high))}"


def _choose_crossing(changes: Sequence[Crossing], at: Sequence[SizeRatio], pair: Pair) -> Crossover:
    parts = []
    for crossing in changes:
        names = (pair.a_label, pair.b_label) if crossing.overtakes else (pair.b_label, pair.a_label)
        parts.append(f"{names[0]} overtakes {names[1]} {_where(crossing, pair.axis)}")
    first = changes[0]
    middle, low, high = _whole(first)
    return Crossover(
        a=pair.a if first.overtakes else pair.b,
        b=pair.b if first.overtakes else pair.a,
        at=float(middle),
        ci95=(low, high),
        status="found" if len(changes) == 1 else "several",
        sentence=f"{listed(parts)}{_equal_end(at)}.",
    )


def _equal_end(at: Sequence[SizeRatio]) -> str:
    """Return a clause about the largest sizes if the arms do not differ at these sizes; else ""."""
    rest = at[max(i for i, place in enumerate(at) if place.printed_sign) + 1 :]
    return f"; {_at(at, rest)}, the two {_alike(rest)}" if rest else ""


def _alike(at: Sequence[SizeRatio]) -> str:
    return "are equal within the noise" if all(p.estimate.alike for p in at) else "cannot be told apart"


MOST_SIZES = 3


def _at(every: Sequence[SizeRatio], some: Sequence[SizeRatio]) -> str:
    """Return the sizes in words: `at every size`, `from 16 on`, `up to 4`, `at 4 and 64`, `at 5 of 9
    sizes`.
    """
    sizes = [size(place.size) for place in some]
    if len(some) == len(every):
        return "at every size"
    if len(some) > 1 and some[0] == every[-len(some)]:
        return f"from {sizes[0]} on"
    if len(some) > 1 and some[-1] == every[len(some) - 1]:
        return f"up to {sizes[-1]}"
    return f"at {listed(sizes)}" if len(sizes) <= MOST_SIZES else f"at {len(sizes)} of {len(every)} sizes"


def _unknown(at: Sequence[SizeRatio], pair: Pair) -> Crossover:
    known = [place for place in at if math.isfinite(place.error)]
    printed = [place.printed_sign for place in at if place.printed_sign]
    turns = sum(1 for _ in groupby(printed)) - 1
    a, b = pair.a_label, pair.b_label
    only = f"at {on_axis(pair.axis, size(at[0].size))}, the only measured size" if len(at) == 1 else ""
    if known and all(place.estimate.alike for place in known):
        spans = [place.estimate.interval or (1.0, 1.0) for place in known]
        within = percent(max(max(high, 1 / low) for low, high in spans) - 1)
        alike = f"within {within} of each other" if printed else "equal within the noise"
        sentence = f"{a} and {b} are {alike} {only or 'at every size'}."
    elif turns > 0:
        first, then = (b, a) if printed[0] > 0 else (a, b)
        ahead, behind = (
            _at(at, [p for p in at if p.printed_sign == sign]) for sign in (printed[0], -printed[0])
        )
        begin = "is certain" if turns == 1 else "persists"
        often = "" if turns == 1 else f"the lead changes {turns} times. "
        sentence = f"No crossover {begin} between {first} and {then}: {often}{first} is faster {ahead}, "
        sentence += f"{then} {behind}; this may be noise."
    elif printed:
        sentence = _leads(at, printed[0], pair, NOISE)
    elif known:
        sentence = f"{a} and {b} cannot be told apart {only or 'at any size'}."
    else:
        sentence = f"Too few rounds to compare {a} with {b}."
    return Crossover(a=pair.a, b=pair.b, at=None, ci95=None, status="unknown", sentence=sentence)


NOISE = ", which may be noise"


def _leads(at: Sequence[SizeRatio], sign: int, pair: Pair, doubt: str = "") -> str:
    """Return sentences about the sizes at which each arm is faster, with the ratio at the largest of these
    sizes, and about the sizes at which the arms do not differ.

    sign: the arm to describe first, +1 for b. doubt: words to append to that arm's ratio, such as `NOISE`.
    """
    ahead, behind = (pair.b_label, pair.a_label) if sign > 0 else (pair.a_label, pair.b_label)
    sure, against = ([p for p in at if p.printed_sign == way] for way in (sign, -sign))
    rest = [p for p in at if not p.printed_sign]
    where = f" at {size(sure[-1].size)}" if len(sure) > 1 else ""
    how = f"{sure[-1].estimate.how}{doubt}{sure[-1].note}"
    parts = [f"{ahead} is faster than {behind} {_at(at, sure)}: {_factor(sure[-1], sign)}{where}, {how}"]
    if against:
        parts.append(f"{behind} is faster {_at(at, against)}: {_factor(against[-1], -sign)}{NOISE}")
    if rest:
        below = rest[-1].size < sure[0].size and not against
        here = f"below {size(sure[0].size)}" if below else _at(at, rest)
        parts.append(f"{capitalized(here)} the two {_alike(rest)}")
    return ". ".join(parts) + "."


def _one_sided(at: Sequence[SizeRatio], pair: Pair) -> Crossover:
    """Return the result if only one of the arms is significantly faster at any size."""
    sign = max(signs(at), key=abs)
    ahead, behind = (pair.b_label, pair.a_label) if sign > 0 else (pair.a_label, pair.b_label)
    ids = (pair.a, pair.b) if sign > 0 else (pair.b, pair.a)
    last, end = at[-1], on_axis(pair.axis, size(at[-1].size))
    if last.printed_sign == sign and not closes(at):
        sure = " is certain" if any(place.printed_sign == -sign for place in at) else ""
        sentence = f"No crossover{sure} up to {end}. {_leads(at, sign, pair)}"
        if len(at) == 1:
            sentence = (
                f"At {end} {ahead} is {_factor(last, sign, f' faster than {behind}')}, "
                f"{last.estimate.how}{last.note}. A single size cannot show a crossover."
            )
        return Crossover(a=ids[0], b=ids[1], at=None, ci95=None, status="none", sentence=sentence)
    if last.printed_sign == sign:
        slower = _factor(last, sign, " slower there")
        state = f"It is still {slower}, {last.estimate.how}, but the gap closes{last.note}"
    elif last.printed_sign:
        state = f"It is faster at {size(last.size)}, {_factor(last, -sign)}{NOISE}"
    else:
        state = f"It is slower at smaller sizes{_equal_end(at)}"
    sentence = f"{behind} does not overtake {ahead} up to {end}. {state}."
    return Crossover(a=ids[0], b=ids[1], at=None, ci95=None, status="beyond", sentence=sentence)


def _factor(place: SizeRatio, sign: int, words: str = "") -> str:
    ratio = place.estimate if sign > 0 else place.estimate.turned
    return f"{ratio.words}{words} {ratio.span}".rstrip()
