"""Limits, positions, ticks and labels of plot axes."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tuilab.model.quantity import prefixed, seconds, significant, suffixed, time_unit

Kind = Literal["plain", "count", "binary", "time", "rate"]
Limits = tuple[float, float]

ROUND = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""The limits of a linear axis are one of these factors times a power of ten."""
_GROWING = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)
_LOG = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
# Ticks of a log axis, from coarse to fine: at every n-th power of ten, or at several multiples of each power.
_DECADES = (6, 3, 2, 1)
_WITHIN = ((1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0))


@dataclass(frozen=True)
class PlotAxis:
    """An axis of a plot.

    kind: how numbers are written: `time` in seconds, `count` with thousands separators, `binary` as powers of
    two (64k), `rate` with a prefix (10 G), or `plain`. low: the lower limit if it is fixed.
    """

    label: str = ""
    kind: Kind = "plain"
    log: bool = False
    low: float | None = None

    def read_out(self, value: float) -> str:
        """Return the label and a value, such as `samples 16,384` or `time per call 478 µs`."""
        if self.kind == "time":
            return f"{self.label} {seconds(value)}"
        return f"{self.label} {value:{',.0f' if self.kind in ('binary', 'count') else ',.6g'}}"


@dataclass(frozen=True)
class Ticks:
    """The ticks of an axis with their labels.

    unit: the common unit of all labels; "" if they contain different units.
    """

    values: tuple[float, ...]
    labels: tuple[str, ...]
    unit: str = ""


def limits(axis: PlotAxis, values: Sequence[float], before: Limits | None = None) -> Limits:
    """Return round numbers around `values` as the limits of an axis.

    before: the current limits, which the new ones include.
    """
    finite = [v for v in values if math.isfinite(v) and (v > 0 or not axis.log)]
    low, high = (min(finite), max(finite)) if finite else ((1.0, 10.0) if axis.log else (0.0, 1.0))
    held = before if finite else None
    wanted = (min(low, held[0]), max(high, held[1])) if held else (low, high)
    if axis.log:
        first, last = _log_limits(*wanted, axis.kind == "binary")
    else:
        first, last = _linear_limits(*wanted, _GROWING if before else ROUND)
    if held:
        first = held[0] if held[0] <= low else first
        last = held[1] if high <= held[1] else last
    first = first if axis.low is None else axis.low
    return first, last if last > first else first * 10 if axis.log else first + 1


def _log_limits(low: float, high: float, binary: bool) -> Limits:
    if binary:
        # On an axis of sizes, the first and the last size are the limits.
        return low, max(high, 2 * low)
    if high < low * 1.05:
        middle = math.sqrt(low * high)
        low, high = middle / 1.1, middle * 1.1
    return round_down(low * 0.98, _LOG), round_up(high * 1.02, _LOG)


def _linear_limits(low: float, high: float, ends: Sequence[float]) -> Limits:
    # The axis starts at zero, unless all values are far from zero.
    if 0 <= low <= 0.5 * high:
        return 0.0, round_up(high, ends)
    span = high - low or abs(high) * 0.2 or 1.0
    step = round_up(span / 4, (1.0, 2.0, 5.0, 10.0))
    first = math.floor((low - 0.05 * span) / step) * step
    last = math.ceil((high + 0.05 * span) / step) * step
    return (max(0.0, first) if low >= 0 else first), last


def round_up(value: float, ends: Sequence[float] = ROUND) -> float:
    """Return the smallest product of one of `ends` and a power of ten that is at least `value` (> 0)."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((end * power for end in ends if end * power >= value * (1 - 1e-12)), 10 * power)


def round_down(value: float, ends: Sequence[float] = ROUND) -> float:
    """Return the largest product of one of `ends` and a power of ten that is at most `value` (> 0)."""
    power = 10.0 ** math.floor(math.log10(value))
    return next((end * power for end in reversed(ends) if end * power <= value * (1 + 1e-12)), power)


def place(value: float, ends: Limits, log: bool) -> float:
    """Return the position of `value` on the axis: 0 at the lower limit, 1 at the upper limit."""
    low, high = ends
    if log:
        return math.log(value / low) / math.log(high / low) if value > 0 else -math.inf
    return (value - low) / (high - low)


def unplace(where: float, ends: Limits, log: bool) -> float:
    """Return the value at a position on the axis (the inverse of `place`)."""
    low, high = ends
    return float(low * (high / low) ** where) if log else low + (high - low) * where


def nearest(values: Sequence[float], value: float) -> int:
    at = bisect_left(values, value)
    near = [i for i in (at - 1, at) if 0 <= i < len(values)]
    return min(near, key=lambda i: abs(values[i] - value))


def ticks(axis: PlotAxis, ends: Limits, most: int) -> Ticks:
    """Return at most `most` ticks between the limits, and at least two if they fit; only integers for
    counts.
    """
    most = max(2, most)
    if not axis.log:
        values = linear(*ends, most)
    elif axis.kind == "binary":
        values = powers_of_two(*ends, most)
    else:
        values = logarithmic(*ends, most)
    if axis.kind in ("count", "binary"):  # counts have no fractions
        values = [value for value in values if abs(value - round(value)) <= 1e-9 * value]
    match axis.kind:
        case "time":
            labels, unit = _times(values, axis.log)
            return Ticks(tuple(values), tuple(labels), unit)
        case "binary":
            labels = [suffixed(round(v), binary=True) for v in values]
        case "rate":
            labels = [_prefixed_labels(v) for v in values]
        case _:
            labels = _plain(values, axis.log)
    return Ticks(tuple(values), tuple(labels))


def linear(low: float, high: float, most: int) -> list[float]:
    """Return about `most` ticks at multiples of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / max(1, most)))
    values: list[float] = []
    for factor in (1, 2, 5, 10, 20, 50):
        step, finer = factor * power, values
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        values = [k * step for k in range(first, last + 1)]
        if len(values) <= most:
            # A single tick shows no scale, so use the first and the last of the finer ticks.
            return values if len(values) > 1 or len(finer) < 2 else [finer[0], finer[-1]]
    return [low, high]


def logarithmic(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` ticks of a log axis: at powers of ten, and between them if there is room."""
    powers = range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)
    grids = [[10.0**power for power in powers if power % every == 0] for every in _DECADES]
    grids += [[factor * 10.0**power for power in powers for factor in factors] for factors in _WITHIN]
    inside = [[v for v in grid if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)] for grid in grids]
    best = max((values for values in inside if len(values) <= most), key=len, default=[])
    return best if len(best) >= 2 else linear(low, high, most)


def powers_of_two(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` powers of two at equal distances on a log axis."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    if last - first < 1:
        return linear(low, high, most)
    every = -(-(last - first + 1) // most)
    return [2.0**power for power in range(first, last + 1, every)]


def laid(labels: Iterable[tuple[int, str]], width: int, first: int = 0) -> str:
    """Return a row of `width` characters with each label at its column. Leaves out a label that overlaps an
    earlier label or does not fit.

    first: the first column that a label may use.
    """
    row, free = [" "] * width, first
    for start, label in labels:
        end = start + len(label)
        if start >= free and end <= width:
            row[start:end] = label
            free = end + 1
    return "".join(row)


def _times(values: Sequence[float], log: bool) -> tuple[list[str], str]:
    """Return labels for times, and their common unit; "" if each label contains its own unit."""
    above = [v for v in values if v > 0] or [1.0]
    if len({time_unit(v) for v in above}) > 1 and max(values) / min(above) >= 100:
        each = [(v, *time_unit(v)) for v in values]
        return [f"{_trim(significant(v / scale, 3))} {unit}" if v else "0" for v, scale, unit in each], ""
    scale, unit = time_unit(max(values, default=0))
    return _plain([v / scale for v in values], log), unit


def _prefixed_labels(value: float) -> str:
    number, space, prefix = prefixed(value).partition(" ")
    return _trim(number) + space + prefix


def _plain(values: Sequence[float], log: bool) -> list[str]:
    """Return labels with just enough decimals to distinguish the ticks.

    All labels have the same number of decimals, except on a log axis.
    """
    decimals = [_decimals(value) for value in values]
    most = max(decimals, default=0)
    return [f"{v + 0.0:,.{d if log else most}f}" for v, d in zip(values, decimals, strict=True)]


def _decimals(value: float) -> int:
    close = max(1e-12, 1e-6 * abs(value))
    return next((digits for digits in range(9) if abs(round(value, digits) - value) <= close), 9)


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
