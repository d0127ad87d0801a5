"""Computes the allowed values and the stops of a parameter's slider."""

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
"""Parameters with a slider. (Booleans have a switch.)"""


@dataclass(frozen=True)
class Reach:
    """The values that the other parameters allow for a slider, and the reasons for these limits."""

    low: int = 0
    high: int = 0
    multiple: int = 1
    """The value must be a multiple of this number."""
    below: str = ""
    """Why the value cannot be below `low`."""
    above: str = ""
    """Why the value cannot be above `high`."""
    between: str = ""
    """Why the value must be a multiple of `multiple`."""

    def why_not(self, value: Value) -> str:
        if isinstance(value, str):
            return ""
        if value < self.low:
            return self.below
        if value > self.high:
            return self.above
        return self.between if value % self.multiple else ""

    def spans(self, value: Value) -> bool:
        """Return True if a value is between the limits, even if it is not an allowed multiple. Always True
        for a `Choice`.
        """
        return isinstance(value, str) or self.low <= value <= self.high

    def held(self, value: Value, direction: int) -> Value:
        """Clip a number to the limits, and round it to a multiple in `direction` (1 or -1). If that multiple
        is beyond a limit, round in the other direction. Returns a choice unchanged.
        """
        if isinstance(value, str):
            return value
        value = min(self.high, max(self.low, value))
        value = (value // self.multiple if direction < 0 else -(-value // self.multiple)) * self.multiple
        return value - self.multiple if value > self.high else value + self.multiple * (value < self.low)


def reach(
    parameter: Slidable, constraints: Sequence[Constraint] = (), values: Mapping[str, Value] | None = None
) -> Reach:
    """Return the range that the constraints allow for a parameter. A `Choice` is never restricted."""
    if isinstance(parameter, Choice):
        return Reach()
    values = values or {}
    low, high, multiple, between = parameter.low, parameter.high, 1, ""
    if isinstance(parameter, LogInteger) and parameter.multiple != 1:
        multiple, between = parameter.multiple, f"a multiple of {parameter.multiple:,}"
    below, above = f"the minimum is {low:,}", f"the maximum is {high:,}"
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
    parameter: Slidable
    value: Value
    reach: Reach = Reach()
    """The range that the other parameters allow. Ignored for a `Choice`."""
    marks: tuple[Value, ...] = ()
    note: str = ""
    """A remark on the value, such as the memory that it needs."""
    crossover: float | None = None
    """Value at which one arm overtakes another; None if unknown."""
    band: tuple[float, float] | None = None
    """95% interval of the crossover."""


def stops(parameter: Slidable) -> list[Value]:
    """Return the stops for the arrow keys: all options of a choice; on a logarithmic scale, powers of two or
    the numbers 1, 2, 5, 10 …; else equally spaced values. The lowest and the highest allowed value are always
    stops.
    """
    if isinstance(parameter, Choice):
        return list(parameter.options)
    low, high = parameter.low, parameter.high
    if isinstance(parameter, LogInteger):
        return sorted({low, high, *(n for n in _rounds_of(parameter) if low < n < high)})
    steps = (high - low) // parameter.step
    every = next(n for n in _round_numbers(steps) if n >= steps / 40)
    # values are `low` plus whole steps, so the last value may be less than `high`
    return [low + parameter.step * n for n in sorted({*range(0, steps + 1, every), steps})]


def _round_numbers(most: int, binary: bool = False) -> Iterator[int]:
    """Yield powers of two, or 1, 2, 5, 10 …, up to the first number above `most`."""
    power = 1
    while True:
        for factor in (1,) if binary else (1, 2, 5):
            yield factor * power
            if factor * power > most:
                return
        power *= 2 if binary else 10


def _rounds_of(parameter: LogInteger) -> list[int]:
    """Return `parameter.multiple` times each power of two (or times each of 1, 2, 5, 10 …). Only the last
    number exceeds the parameter's maximum.
    """
    of = parameter.multiple
    return [of * n for n in _round_numbers(parameter.high // of, parameter.binary)]


def next_stop(parameter: Slidable, value: Value, direction: int, times: int = 1) -> Value:
    """Return the stop `times` stops above (direction 1) or below (direction -1) `value`, or the last stop in
    that direction.
    """
    there = stops(parameter)
    if value in there:
        index = there.index(value) + direction * times
    else:
        index = bisect_left(there, value) + (times - 1 if direction > 0 else -times)
    return there[min(len(there) - 1, max(0, index))]


def fine_step(parameter: Slidable, value: Value, direction: int) -> Value:
    """Return `value` moved by a fine step: 1/16 of an octave or 1/10 of a decade on a logarithmic scale, else
    one step or one choice.
    """
    if isinstance(parameter, Choice):
        return next_stop(parameter, value, direction)
    moved = value = int(value)
    if isinstance(parameter, Integer):
        moved += direction * parameter.step
    else:
        base = 2 if parameter.binary else 10
        # at a power of two or ten, a step down has the size of a step in the octave or decade below
        size = base ** math.floor(math.log(max(1, value - (direction < 0)), base) + 1e-9)
        step = max(1, size // (16 if parameter.binary else 10))
        step = -(-step // parameter.multiple) * parameter.multiple
        moved = (value // step + 1) * step if direction > 0 else (-(-value // step) - 1) * step
    return min(parameter.high, max(parameter.low, moved))


def next_mark(parameter: Slidable, marks: Sequence[Value], value: Value, direction: int) -> Value | None:
    """Return the next mark above (direction 1) or below (direction -1) `value`, wrapping around; None if
    there are no marks.
    """
    here = fraction(parameter, value)
    ordered = sorted(set(marks), key=lambda mark: fraction(parameter, mark))[::direction]
    ahead = (mark for mark in ordered if (fraction(parameter, mark) - here) * direction > 0)
    return next(ahead, ordered[0] if ordered else None)


def fraction(parameter: Slidable, value: Value | float) -> float:
    """Return the position of `value` on the slider's track, from 0 to 1."""
    if isinstance(parameter, Choice):
        return parameter.options.index(str(value)) / max(1, len(parameter.options) - 1)
    ends, log = _scale(parameter)
    return min(1.0, place(max(ends[0], float(value)), ends, log))


def _scale(parameter: Integer | LogInteger) -> tuple[Limits, bool]:
    """Return the limits of the track, and True if the scale is logarithmic."""
    log = isinstance(parameter, LogInteger)
    low = max(parameter.low, 1) if log else parameter.low
    return (low, max(parameter.high, low + 1)), log


def cell_of(parameter: Slidable, value: Value | float, cells: int) -> int:
    # round half up (not half to even), so that a larger value never gets a lower cell
    return min(cells - 1, math.floor(fraction(parameter, value) * (cells - 1) + 0.5))


def value_at(parameter: Slidable, cell: int, cells: int, marks: Sequence[Value] = ()) -> Value:
    """Return the value for a click on a cell: a mark in that cell, else the roundest number in that cell,
    else the nearest whole number.
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
