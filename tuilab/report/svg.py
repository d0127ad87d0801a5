"""Draws charts as SVG, for self-contained pages."""

from dataclasses import dataclass
from html import escape

from tuilab.report.axes import Limits, limits, place, ticks
from tuilab.report.chart import Chart, Series, Thinned, Vertical

# Okabe and Ito's palette, which people with any common type of color blindness can distinguish.
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F", "#555555")
MARKERS = ("circle", "square", "triangle", "diamond")
WIDTH, HEIGHT = 760, 340
LEFT, TOP, BOTTOM = 76, 16, 44
LEGEND, LETTER, STEP = 38, 6.8, 20
"""Sizes in the legend, in pixels: space before a label, width of a letter, distance between labels."""
MOST_POINTS = 400


def svg(chart: Chart) -> str:
    """Draw the chart as SVG; "" if it has no points."""
    series = [one for one in chart.series if len(one.x) and not one.ghost]
    if not series:
        return ""
    ys = [y for one in series for y in (*one.y, *one.low, *one.high)]
    right = LEGEND + round(LETTER * max(len(one.label) for one in series))
    step = min(STEP, (HEIGHT - TOP) / len(series))
    across = limits(chart.x, [x for one in series for x in one.x])
    picture = _Picture(chart, across, limits(chart.y, ys), min(right, WIDTH // 2), step)
    parts = [picture.frame()]
    parts += [picture.vertical(vertical, number) for number, vertical in enumerate(chart.verticals)]
    parts += [picture.series(one, number) for number, one in enumerate(series)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    return head + "".join(parts) + "</svg>"


@dataclass(frozen=True)
class _Picture:
    chart: Chart
    across: Limits
    up: Limits
    right: int
    """Width of the legend, in pixels."""
    step: float
    """Distance between two labels of the legend, in pixels."""

    def x(self, value: float) -> float:
        return LEFT + place(value, self.across, self.chart.x.log) * (WIDTH - LEFT - self.right)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - place(value, self.up, self.chart.y.log) * (HEIGHT - TOP - BOTTOM)

    def frame(self) -> str:
        """Draw the axes with ticks and grid, and the label of the x axis."""
        right, bottom = WIDTH - self.right, HEIGHT - BOTTOM
        across, up = ticks(self.chart.x, self.across, 8), ticks(self.chart.y, self.up, 8)
        parts = [f'<path d="M{LEFT} {TOP}V{bottom}H{right}" class="axis"/>']
        for tick, label in zip(up.values, up.labels, strict=True):
            at = self.y(tick)
            parts.append(f'<line x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" class="end">{label} {up.unit}</text>')
        for tick, label in zip(across.values, across.labels, strict=True):
            parts.append(f'<text x="{self.x(tick):.1f}" y="{bottom + 18}" class="mid">{label}</text>')
        name = escape(self.chart.x.label)
        parts.append(f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 6}" class="mid">{name}</text>')
        return "".join(parts)

    def vertical(self, vertical: Vertical, number: int) -> str:
        """Draw a vertical line with its label in row `number`, and the line's interval as a band."""
        at, bottom = self.x(vertical.at), HEIGHT - BOTTOM
        parts = []
        if vertical.band is not None:
            low, high = (min(WIDTH - self.right, max(LEFT, self.x(end))) for end in vertical.band)
            parts.append(
                f'<rect x="{low:.1f}" y="{TOP}" width="{max(0.0, high - low):.1f}" height="{bottom - TOP}" '
                'class="band"/>'
            )
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}" class="mark"/>')
        if vertical.label:
            end = at + 6 + LETTER * len(vertical.label) > WIDTH - self.right
            place = f'x="{at - 6:.1f}" class="end"' if end else f'x="{at + 6:.1f}"'
            parts.append(f'<text {place} y="{TOP + 12 + 16 * number}">{escape(vertical.label)}</text>')
        return "".join(parts)

    def series(self, one: Series, number: int) -> str:
        """Draw a series as line, markers and error bars, with its label. A long series is reduced to the
        extremes of its buckets.
        """
        hue, again = HUES[number % len(HUES)], number // len(HUES)
        marker = MARKERS[(number + again) % len(MARKERS)]  # a color repeats only after all others were used
        (xs, ys), _ = Thinned(one.x, one.y).points(MOST_POINTS // 4)
        places = [(self.x(x), self.y(y)) for x, y in zip(xs, ys, strict=True) if y > 0]
        parts = [f'<g stroke="{hue}" fill="{hue}">']
        if len(places) > 1:
            line = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
            parts.append(f'<polyline points="{line}" fill="none" stroke-width="1.5"/>')
        for x, low, high in zip(one.x, one.low, one.high, strict=False):
            if high > low > 0:
                parts.append(f'<path d="M{self.x(x):.1f} {self.y(low):.1f}V{self.y(high):.1f}"/>')
        key = round(TOP + 14 + self.step * number, 1)
        parts += [_marker(marker, a, b) for i, (a, b) in enumerate(places) if i not in one.hollow]
        if one.hollow:  # only curves have hollow points, and they are too short to be thinned
            open_ones = "".join(_marker(marker, *places[i]) for i in sorted(one.hollow) if i < len(places))
            parts.append(f'<g fill="none">{open_ones}</g>')
        parts.append(_marker(marker, WIDTH - self.right + 16, key - 4))
        label = escape(one.label)
        parts.append(f'<text x="{WIDTH - self.right + 28}" y="{key}" stroke="none">{label}</text></g>')
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
