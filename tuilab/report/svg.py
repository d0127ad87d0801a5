"""Plots as SVG, made of nothing but text: for pages that must carry their pictures with them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tuilab.model.quantity import count, seconds

# Okabe and Ito's palette, told apart by people with any common colour vision.
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F", "#555555")
MARKERS = ("circle", "square", "triangle", "diamond")
WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 76, 190, 16, 44


@dataclass(frozen=True)
class Series:
    """Points (x, y, low, high); low and high are an interval around y, or y itself."""

    label: str
    points: Sequence[tuple[float, float, float, float]]


@dataclass(frozen=True)
class Axis:
    """low and high of the data, and whether equal steps are equal ratios."""

    low: float
    high: float
    log: bool

    def place(self, value: float) -> float:
        """0 … 1 from low to high."""
        if self.high <= self.low:
            return 0.5
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Round values inside the axis: powers of ten (or 1-2-5 within two decades), or 1-2-5 steps."""
        if self.high <= self.low:
            return [self.low]
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            steps = (1, 2, 5) if last - first <= 2 else (1,)
            ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        else:
            raw = (self.high - self.low) / 5
            unit = 10.0 ** math.floor(math.log10(raw))
            step = next(s * unit for s in (1, 2, 5, 10) if s * unit >= raw)
            first = math.ceil(self.low / step)
            ticks = [n * step for n in range(first, first + 12)]
        # A tick at the very end may fall outside by the last bit.
        low, high = self.low * (1 - 1e-9), self.high * (1 + 1e-9)
        return [tick for tick in ticks if low <= tick <= high]


def axis(values: Sequence[float], log: bool) -> Axis:
    """An axis that holds the values, with a little room; logarithmic only where all are positive."""
    log = log and min(values) > 0
    low, high = min(values), max(values)
    if log:
        return Axis(low / 1.15, high * 1.15, True)
    room = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return Axis(max(0.0, low - room), high + room, False)


def chart(series: Sequence[Series], x_label: str, log_x: bool, mark: float | None = None) -> str:
    """Lines with markers and error bars over a logarithmic time axis; `mark` is a crossover."""
    xs = [p[0] for s in series for p in s.points]
    if not xs:
        return ""
    x = axis(xs, log_x)
    y = axis([v for s in series for p in s.points for v in p[1:] if v > 0], True)
    parts = [_frame(x, y, x_label)]
    if mark is not None and x.low <= mark <= x.high:
        at = _x(x, mark)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" class="mark"/>')
    parts += [_series(s, number, x, y) for number, s in enumerate(series)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    return head + "".join(parts) + "</svg>"


def _x(x: Axis, value: float) -> float:
    return LEFT + x.place(value) * (WIDTH - LEFT - RIGHT)


def _y(y: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - y.place(value) * (HEIGHT - TOP - BOTTOM)


def _frame(x: Axis, y: Axis, x_label: str) -> str:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [f'<path d="M{LEFT} {TOP}V{bottom}H{right}" class="axis"/>']
    for tick in y.ticks():
        at = _y(y, tick)
        parts.append(f'<line x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" class="end">{seconds(tick)}</text>')
    for tick in x.ticks():
        parts.append(f'<text x="{_x(x, tick):.1f}" y="{bottom + 18}" class="mid">{count(tick)}</text>')
    parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 6}" class="mid">{escape(x_label)}</text>')
    return "".join(parts)


def _series(series: Series, number: int, x: Axis, y: Axis) -> str:
    hue, marker = HUES[number % len(HUES)], MARKERS[number % len(MARKERS)]
    parts = [f'<g stroke="{hue}" fill="{hue}">']
    places = [(_x(x, p[0]), _y(y, p[1])) for p in series.points if p[1] > 0]
    if len(places) > 1:
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke-width="1.5"/>')
    for point, (a, b) in zip((p for p in series.points if p[1] > 0), places, strict=True):
        if point[3] > point[2] > 0:
            parts.append(f'<path d="M{a:.1f} {_y(y, point[2]):.1f}V{_y(y, point[3]):.1f}"/>')
        parts.append(_marker(marker, a, b))
    key = TOP + 14 + 20 * number
    parts.append(_marker(marker, WIDTH - RIGHT + 16, key - 4))
    parts.append(f'<text x="{WIDTH - RIGHT + 28}" y="{key}" stroke="none">{escape(series.label)}</text></g>')
    return "".join(parts)


def _marker(kind: str, x: float, y: float) -> str:
    match kind:
        case "circle":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        case "square":
            return f'<path d="M{x - 3:.1f} {y - 3:.1f}h6v6h-6z"/>'
        case "triangle":
            return f'<path d="M{x:.1f} {y - 4:.1f}l4 7h-8z"/>'
        case _:
            return f'<path d="M{x:.1f} {y - 4:.1f}l4 4l-4 4l-4 -4z"/>'
