"""The logic of a parameter's slider: its allowed values, their reasons, and its stops."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tuilab.model.parameters import (
    AtMost,
    Choice,
    Constraint,
    Integer,
    LogInteger,
    MultipleOf,
    Value,
    nearest,
)
from tuilab.report.axes import Limits, place, unplace

Slidable = Integer | LogInteger | Choice
"""Parameters with a slider; a flag has a switch."""


@dataclass(frozen=True)
class Reach:
    """The numbers allowed by the other parameters, and the reasons."""

    low: int = 0
    high: int = 0
    multiple: int = 1
    """Only multiples of this."""
    below: str = ""
    """Why it cannot go below `low`."""
    above: str = ""
    """Why it cannot go above `high`."""
    between: str = ""
    """Why it must be a multiple."""

    def why_not(self, value: Value) -> str:
        """Describe why `value` is not allowed; empty if it is."""
        if isinstance(value, str):
            return ""
        if value < self.low:
            return self.below
        if value > self.high:
            return self.above
        return self.between if value % self.multiple else ""

    def spans(self, value: Value) -> bool:
        """Return True if it lies within the limits, for any multiple; always for a word."""
        return isinstance(value, str) or self.low <= value <= self.high

    def held(self, value: Value, direction: int) -> Value:
        """Return the nearest allowed number, rounded in `direction` to a multiple; a word unchanged."""
        if isinstance(value, str):
            return value
        value = min(self.high, max(self.low, value))
        value = (value // self.multiple if direction < 0 else -(-value // self.multiple)) * self.multiple
        return value - self.multiple if value > self.high else value + self.multiple * (value < self.low)


def reach(
    parameter: Slidable, constraints: Sequence[Constraint] = (), values: Mapping[str, Value] | None = None
) -> Reach:
    """Return the range that the constraints leave; for a word, everything."""
    if isinstance(parameter, Choice):
        return Reach()
    values = values or {}
    low, high, multiple, between = parameter.low, parameter.high, 1, ""
    if isinstance(parameter, LogInteger) and parameter.multiple != 1:
        multiple, between = parameter.multiple, f"a multiple of {parameter.multiple:,}"
    below, above = f"{low:,} is the least", f"{high:,} is the most"
    for constraint in constraints:
        mine = constraint.parameter == parameter.name
        other = constraint.other if mine else constraint.parameter
        if parameter.name not in (constraint.parameter, constraint.other) or other not in values:
            continue
        limit = int(values[other])
        words = f"{other} = {limit:,}: {constraint.reason}"
        match constraint:
            case AtMost() if mine and limit <= high:
                high, above = limit, f"at most {words}"
            case AtMost() if not mine and limit >= low:
                low, below = limit, f"at least {words}"
            case MultipleOf() if mine and limit:
                multiple, between = math.lcm(multiple, limit), f"a multiple of {words}"
    return Reach(low, max(low, high), multiple, below, above, between)


@dataclass(frozen=True)
class Control:
    """The current state of a parameter's control."""

    parameter: Slidable
    """Its declaration."""
    value: Value
    """The current value."""
    reach: Reach = Reach()
    """The range left by the other parameters; for a word, everything."""
    marks: tuple[Value, ...] = ()
    """Values from the document."""
    note: str = ""
    """A remark on the value, such as the memory that it needs."""
    crossover: float | None = None
    """Where two arms cross; None if not known."""
    band: tuple[float, float] | None = None
    """The crossover's 95% interval."""


def stops(parameter: Slidable) -> list[Value]:
    """Return the stops for arrow keys: each choice; powers of two, 1-2-5 or even steps, and both ends."""
    if isinstance(parameter, Choice):
        return list(parameter.options)
    low, high = parameter.low, parameter.high
    if isinstance(parameter, LogInteger):
        return sorted({low, high, *(n for n in _rounds_of(parameter) if low < n < high)})
    steps = (high - low) // parameter.step
    every = next(n for n in _round_numbers(steps) if n >= steps / 40)
    # Values are low plus whole steps, so the last one may be below high.
    return [low + parameter.step * n for n in sorted({*range(0, steps + 1, every), steps})]


def _round_numbers(most: int, binary: bool = False) -> Iterator[int]:
    """Yield powers of two, or 1, 2, 5, 10 …, up to the first above `most`."""
    power = 1
    while True:
        for factor in (1,) if binary else (1, 2, 5):
            yield factor * power
            if factor * power > most:
                return
        power *= 2 if binary else 10


def _rounds_of(parameter: LogInteger) -> list[int]:
    """List its round values; for a multiple, round multiples."""
    of = parameter.multiple
    return [of * n for n in _round_numbers(parameter.high // of, parameter.binary)]


def next_stop(parameter: Slidable, value: Value, direction: int, times: int = 1) -> Value:
    """Return the `times`-th stop above (1) or below (-1) `value`; the last one if there are no more."""
    there = stops(parameter)
    if value in there:
        index = there.index(value) + direction * times
    else:
        index = bisect_left(there, value) + (times - 1 if direction > 0 else -times)
    return there[min(len(there) - 1, max(0, index))]


def fine_step(parameter: Slidable, value: Value, direction: int) -> Value:
    """Move by a fine step: a sixteenth of an octave (a tenth of a decade), one step, or one choice."""
    if isinstance(parameter, Choice):
        return next_stop(parameter, value, direction)
    moved = value = int(value)
    if isinstance(parameter, Integer):
        moved += direction * parameter.step
    else:
        base = 2 if parameter.binary else 10
        # Going down from a power, use the step of the octave below.
        size = base ** math.floor(math.log(max(1, value - (direction < 0)), base) + 1e-9)
        step = max(1, size // (16 if parameter.binary else 10))
        step = -(-step // parameter.multiple) * parameter.multiple
        moved = (value // step + 1) * step if direction > 0 else (-(-value // step) - 1) * step
    return min(parameter.high, max(parameter.low, moved))


def next_mark(parameter: Slidable, marks: Sequence[Value], value: Value, direction: int) -> Value | None:
    """Return the next of `marks` above or below `value`, wrapping around; None if there are none."""
    here = fraction(parameter, value)
    ordered = sorted(set(marks), key=lambda mark: fraction(parameter, mark))[::direction]
    ahead = (mark for mark in ordered if (fraction(parameter, mark) - here) * direction > 0)
    return next(ahead, ordered[0] if ordered else None)


def fraction(parameter: Slidable, value: Value | float) -> float:
    """Return the position of `value` on the track, from 0 to 1."""
    if isinstance(parameter, Choice):
        return parameter.options.index(str(value)) / max(1, len(parameter.options) - 1)
    ends, log = _scale(parameter)
    return min(1.0, place(max(ends[0], float(value)), ends, log))


def _scale(parameter: Integer | LogInteger) -> tuple[Limits, bool]:
    """Return the track's limits, and True for a logarithmic scale."""
    log = isinstance(parameter, LogInteger)
    low = max(parameter.low, 1) if log else parameter.low
    return (low, max(parameter.high, low + 1)), log


def cell_of(parameter: Slidable, value: Value | float, cells: int) -> int:
    """Return the cell of a track of `cells` cells that shows `value`."""
    # Round half up, not half to even, so that neighbouring values never swap cells.
    return min(cells - 1, math.floor(fraction(parameter, value) * (cells - 1) + 0.5))


def value_at(parameter: Slidable, cell: int, cells: int, marks: Sequence[Value] = ()) -> Value:
    """Return the value for a click on that cell: a document's value if one lies there, else the roundest.

    It maps back to the same cell, unless the cell holds no whole number; then it is the nearest one.
    """
    there = stops(parameter)
    if cell <= 0 or cell >= cells - 1:
        return there[0 if cell <= 0 else -1]
    marked = [mark for mark in marks if cell_of(parameter, mark, cells) == cell]
    if marked:
        return marked[0]
    if isinstance(parameter, Choice):
        return there[round(cell / (cells - 1) * (len(there) - 1))]
    first, middle, behind = (
        unplace((cell + half) / (cells - 1), *_scale(parameter)) for half in (-0.5, 0.0, 0.5)
    )
    if isinstance(parameter, Integer):
        return nearest(parameter, middle)
    for size in reversed(_rounds_of(parameter)):
        number = math.ceil(first / size) * size
        if number < behind:
            return number
    return nearest(parameter, middle)
