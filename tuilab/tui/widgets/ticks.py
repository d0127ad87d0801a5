"""Ticks of an axis and their labels: 1-2-5 on a linear axis, powers on a log one, units said once. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from tuilab.model.quantity import prefixed, significant, time_unit
from tuilab.tui.widgets.chart import Axis, Kind, Limits
from tuilab.tui.widgets.snap_points import short

# Finer and finer ticks within a decade, until there are as many as fit.
_DECADE = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0))


@dataclass(frozen=True)
class Ticks:
    """Positions with their labels, and the unit where all labels share one."""

    values: tuple[float, ...]
    labels: tuple[str, ...]
    unit: str = ""


def ticks(axis: Axis, ends: Limits, most: int) -> Ticks:
    """At most `most` ticks (at least two if there is room) between the limits."""
    most = max(2, most)
    low, high = ends
    if not axis.log:
        values = linear(low, high, most)
    elif axis.kind == "binary":
        values = powers_of_two(low, high, most)
    else:
        values = logarithmic(low, high, most)
    return labelled(axis.kind, values, axis.log)


def linear(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / max(1, most)))
    for factor in (1, 2, 5, 10, 20, 50):
        step = factor * power
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            return [k * step for k in range(first, last + 1)]
    return [low, high]


def logarithmic(low: float, high: float, most: int) -> list[float]:
    """Round values on a log axis: whole decades, thinned or filled so as to have as many as fit."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    best: list[float] = []
    for every in (6, 3, 2, 1):
        best = _better(best, [10.0**e for e in range(first, last + 1) if e % every == 0], low, high, most)
    for factors in _DECADE:
        values = [f * 10.0**e for e in range(first, last + 1) for f in factors]
        best = _better(best, values, low, high, most)
    return best if len(best) >= 2 else linear(low, high, most)


def _better(best: list[float], values: list[float], low: float, high: float, most: int) -> list[float]:
    inside = [v for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
    return inside if len(best) < len(inside) <= most else best


def powers_of_two(low: float, high: float, most: int) -> list[float]:
    """Every, every second, third … power of two."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    if last - first < 1:
        return linear(low, high, most)
    every = 1
    while (last - first) // every + 1 > most:
        every += 1
    return [2.0**e for e in range(first, last + 1) if (e - first) % every == 0]


def labelled(kind: Kind, values: Sequence[float], log: bool = False) -> Ticks:
    """The values with their labels. Times that share a unit leave it to the axis."""
    if kind == "time":
        return _times(values, log)
    if kind == "binary":
        return Ticks(tuple(values), tuple(short(round(v)) for v in values))
    if kind == "rate":
        return Ticks(tuple(values), tuple(_prefixed(v) for v in values))
    return Ticks(tuple(values), tuple(_plain(values, log)))


def laid(labels: Iterable[tuple[int, str]], width: int, first: int = 0) -> str:
    """A row of `width` cells with each label from its place on, as far as it is free from `first` on."""
    row, free = [" "] * width, first
    for start, label in labels:
        end = start + cell_len(label)
        if start >= free and end <= width:
            row[start:end] = label
            free = end + 1
    return "".join(row)


def _times(values: Sequence[float], log: bool) -> Ticks:
    units = {time_unit(v) for v in values if v > 0}
    span = max(values, default=0) / min((v for v in values if v > 0), default=1)
    if len(units) > 1 and span >= 100:
        labels = []
        for value in values:
            scale, unit = time_unit(value)
            labels.append(f"{_trim(significant(value / scale, 3))} {unit}" if value else "0")
        return Ticks(tuple(values), tuple(labels))
    scale, unit = time_unit(max(values, default=0))
    return Ticks(tuple(values), tuple(_plain([v / scale for v in values], log)), unit)


def _prefixed(value: float) -> str:
    """`100 G`."""
    number, space, prefix = prefixed(value).partition(" ")
    return _trim(number) + space + prefix


def _plain(values: Sequence[float], log: bool) -> list[str]:
    """As many decimals as tell the ticks apart: the same for all, or on a log axis those of each."""
    decimals = [_decimals(value) for value in values]
    most = max(decimals, default=0)
    return [f"{v + 0.0:,.{d if log else most}f}" for v, d in zip(values, decimals, strict=True)]


def _decimals(value: float) -> int:
    decimals = 0
    while decimals < 9 and abs(round(value, decimals) - value) > max(1e-12, 1e-6 * abs(value)):
        decimals += 1
    return decimals


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
