"""Where the values of a parameter lie on a track, and which values a slider stops at. Pure arithmetic."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from tuilab.model.parameters import Boolean, Choice, Integer, LogInteger, Parameter, Value
from tuilab.model.quantity import suffixed
from tuilab.report.axes import Limits, place, round_up, unplace

Numeric = Integer | LogInteger


def options(parameter: Parameter) -> tuple[Value, ...]:
    """The stops of a choice or a flag in their order; none for a number."""
    match parameter:
        case Choice():
            return parameter.options
        case Boolean():
            return (False, True)
        case _:
            return ()


def _ends(parameter: Numeric) -> tuple[Limits, bool]:
    """From and to where the track goes, and whether its scale is logarithmic."""
    low, log = parameter.low, isinstance(parameter, LogInteger)
    low = max(low, 1) if log else low
    return (low, max(parameter.high, low + 1)), log


def fraction(parameter: Numeric, value: float) -> float:
    """Where `value` lies between low (0) and high (1), clamped."""
    ends, log = _ends(parameter)
    return min(1.0, place(max(value, ends[0]), ends, log))


def cell_of(parameter: Parameter, value: Value, cells: int) -> int:
    """The cell of a track of `cells` cells that shows `value`."""
    if isinstance(parameter, Integer | LogInteger):
        return _cell(fraction(parameter, int(value)), cells)
    stops = options(parameter)
    return _cell(stops.index(value) / max(1, len(stops) - 1), cells)


def _cell(place: float, cells: int) -> int:
    # Half up, not half to even: neighbouring values then never swap cells.
    return min(cells - 1, math.floor(place * (cells - 1) + 0.5))


def value_at(parameter: Parameter, cell: int, cells: int, marks: Sequence[Value] = ()) -> Value:
    """The value that a click on that cell means: a document's value if one lies there, else the roundest.

    It is shown in the same cell again, unless the cell holds no whole number: then it is the nearest one.
    """
    cell = min(cells - 1, max(0, cell))
    if not isinstance(parameter, Integer | LogInteger):
        stops = options(parameter)
        return stops[round(cell / max(1, cells - 1) * (len(stops) - 1))]
    if cell == 0:
        return parameter.low
    if cell == cells - 1:
        return parameter.high
    low, middle, high = (unplace((cell + half) / (cells - 1), *_ends(parameter)) for half in (-0.5, 0.0, 0.5))
    here = [int(mark) for mark in marks if low <= int(mark) < high]
    if here:
        return min(here, key=lambda mark: abs(mark - middle))
    return roundest(parameter, low, middle, high)


def roundest(parameter: Numeric, low: float, middle: float, high: float) -> int:
    """The roundest value in [low, high): a stop if there is one, else a multiple of a large round step."""
    if isinstance(parameter, Integer):
        step = parameter.step
        steps = min((parameter.high - parameter.low) // step, max(0, round((middle - parameter.low) / step)))
        return parameter.low + steps * step
    inside = [stop for stop in stops_of(parameter) if low <= stop < high]
    if inside:
        return min(inside, key=lambda stop: abs(math.log(stop / middle)))
    size = _power(parameter, high)
    while size >= 1:
        nearest = round(middle / size) * size
        for candidate in (nearest, nearest - size, nearest + size):
            if low <= candidate < high and parameter.low <= candidate <= parameter.high:
                return candidate
        size //= 2 if parameter.binary else 10
    return min(parameter.high, max(parameter.low, round(middle)))


def _power(parameter: LogInteger, value: float) -> int:
    base = 2 if parameter.binary else 10
    return int(base ** math.floor(math.log(max(value, 1), base) + 1e-9))


def stops_of(parameter: Numeric) -> list[int]:
    """The values at which arrow keys stop: powers of two, 1-2-5, or even steps; both ends always."""
    low, high = parameter.low, parameter.high
    if isinstance(parameter, Integer):
        step = parameter.step * int(round_up(max(1, (high - low) // parameter.step / 40), (1, 2, 5, 10)))
        inner = range(low, high + 1, step)
        # Every value that the slider takes is low plus whole steps, so the last one may fall short of high.
        top = low + (high - low) // parameter.step * parameter.step
        return sorted({*inner, top})
    if parameter.binary:
        series = [2**k for k in range(max(high, 1).bit_length() + 1)]
    else:
        series = [m * 10**k for k in range(len(str(high)) + 1) for m in (1, 2, 5)]
    return sorted({low, high, *(stop for stop in series if low < stop < high)})


def next_stop(parameter: Numeric, value: int, direction: int, times: int = 1) -> int:
    """The `times`-th stop above (1) or below (-1) `value`; the last one where there are no more."""
    stops = stops_of(parameter)
    if direction > 0:
        index = bisect_right(stops, value) + times - 1
    else:
        index = bisect_left(stops, value) - times
    return stops[min(len(stops) - 1, max(0, index))]


def fine_step(parameter: Numeric, value: int, direction: int) -> int:
    """The next fine value: a sixteenth of the octave (a tenth of the decade), or one step."""
    if isinstance(parameter, Integer):
        moved = value + direction * parameter.step
    else:
        # Going down from a power, the step is that of the octave below.
        size = _power(parameter, value if direction > 0 else max(1, value - 1))
        step = max(1, size // (16 if parameter.binary else 10))
        moved = (value // step + 1) * step if direction > 0 else (-(-value // step) - 1) * step
    return min(parameter.high, max(parameter.low, moved))


def next_mark(marks: Sequence[float], value: float, direction: int) -> float | None:
    """The next of `marks` above or below `value`, going round at the ends; None where there are none."""
    ordered = sorted(set(marks))
    if not ordered:
        return None
    if direction > 0:
        return next((mark for mark in ordered if mark > value), ordered[0])
    return next((mark for mark in reversed(ordered) if mark < value), ordered[-1])


def short(value: Value, *, binary: bool = True) -> str:
    """`16777216` → `16M`, `10240` → `10k`: as a person would type it; other numbers with separators."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    return suffixed(value, binary=binary)


def full(value: Value) -> str:
    """`10240` → `10,240`: every digit, so that nobody wonders which k is meant."""
    return short(value) if isinstance(value, bool | str) else f"{value:,}"
