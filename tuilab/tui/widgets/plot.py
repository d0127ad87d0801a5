"""The plot widget, and everything else that uses the plotting library.

The library plotext draws only the curves, with braille dots. Axes, legend and colors are drawn here: they
follow the theme, stay in place when data arrives, and are readable without color.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from itertools import groupby
from operator import or_
from threading import Lock
from typing import Any, ClassVar

from rich.cells import cell_len
from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message

from tuilab.report.axes import Limits, laid, limits, nearest, place, ticks, unplace
from tuilab.report.chart import Chart, Points, Series, Thinned
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import (
    CROSSOVER,
    FAINT,
    HOLLOW,
    LEVELS,
    MUTED,
    RULE,
    TEXT,
    THUMB,
    VERTICAL,
    Line,
    Mark,
    Run,
    TextStyle,
)
from tuilab.tui.widgets.wording import fit, width_of

LEGEND_FROM, NOTES_FROM = 40, 64
"""Minimum width for a legend, and for a legend with more than names."""
ABSENT = 26
"""Cells in the legend for a series without points: its name, and the reason for the missing points."""
STRIP, MOST_SAMPLES = 8, 500
"""Number of cells for a distribution, and maximum number of samples that determine it. Longer series are
thinned out.
"""
APART = 14
"""Number of columns between two markers of the same curve."""
BAND, COLUMN = "/22", "warn/18"
BLANK_DOTS = "\u2800"
RULES = {"line": "─", "dashes": "╌"}
"""Characters for series that do not belong to an arm."""

_loading = Lock()


def figure() -> Any:
    """Return the plotting library's only figure.

    A thread may call this function early, because importing the library is too slow for the first paint.
    """
    with _loading:
        return _figure()


@cache
def _figure() -> Any:
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.axes(False)
    for axis in "xy":
        figure.ruler(axis).ticks([])
        figure.ruler(axis).lim(0.0, 1.0)
    return figure


def raster(columns: int, rows: int, points: Points, connected: bool, marker: str) -> list[str]:
    """Draw a series on `columns` × `rows` cells. Returns the rows as text, top row first.

    points: coordinates from 0 (center of the first cell) to 1 (center of the last cell); other points are cut
    off. marker: one character, or `braille` for dots of 1/8 of a cell.
    """
    dots_across, dots_up = (2 * columns - 1, 4 * rows - 1) if marker == "braille" else (columns - 1, rows - 1)
    grid = [
        (round(x * dots_across) / max(1, dots_across), round(y * dots_up) / max(1, dots_up))
        for x, y in zip(*points, strict=True)
    ]
    # Each point needs a call of the library, so skip points on the same dot as the previous point.
    kept = [point for point, _ in groupby(grid)]
    plot = figure()
    plot.clear.data()
    plot.plot_size(columns, rows)
    signal = plot.signal([x for x, _ in kept], [y for _, y in kept], marker=marker)
    plot.draw(signal.lines(True) if connected else signal)
    return str(plot.build().string(True)).splitlines()


class Canvas:
    """Cells of (character, style), in rows from the top.

    Series hide rules, bars and ghosts. If several series share a cell, a marker hides a line; several markers
    or several lines take turns from column to column.
    """

    def __init__(self) -> None:
        self.below: dict[tuple[int, int], Run] = {}
        self.series: dict[tuple[int, int], list[Run]] = {}
        self.grounds: dict[tuple[int, int], str] = {}

    def stamp(self, lines: Sequence[str], style: TextStyle, *, below: bool = False) -> None:
        """Draw the text of a series. below: let all other series hide this text."""
        for row, line in enumerate(lines):
            for column, character in enumerate(line):
                if character in (" ", BLANK_DOTS):
                    continue
                if below:
                    self.below[row, column] = character, style
                else:
                    self.put(row, column, character, style)

    def put(self, row: int, column: int, character: str, style: TextStyle) -> None:
        self.series.setdefault((row, column), []).append((character, style))

    def shade(self, rows: range, columns: range, ground: str) -> None:
        self.grounds.update(((row, column), ground) for row in rows for column in columns)

    def shown(self, row: int, column: int) -> Run:
        """Return the visible character of a cell with its style. Lines in the same cell are combined into a
        single character.
        """
        runs = self.series.get((row, column))
        if not runs:
            return self.below.get((row, column), (" ", TEXT))
        markers = [run for run in runs if not _is_line(run[0])]
        of = markers or runs
        character, style = of[column % len(of)]
        return character if markers else chr(reduce(or_, (ord(dots) for dots, _ in runs))), style

    def line(self, row: int, columns: int) -> list[Run]:
        seen: list[Run] = []
        for column in range(columns):
            character, style = self.shown(row, column)
            ground = self.grounds.get((row, column))
            if ground:
                style = replace(style, on=ground)
            elif character == " " and seen and not seen[-1][1].on:
                # A blank has no text color; the previous character's style saves color codes.
                style = seen[-1][1]
            seen.append((character, style))
        groups = groupby(seen, key=lambda cell: cell[1])
        return [("".join(cell[0] for cell in group), style) for style, group in groups]


def _is_line(character: str) -> bool:
    return BLANK_DOTS <= character <= "\u28ff"


class Picture:
    """A drawing of a chart: its layout, the positions of its values, and its lines.

    points: for each series (by key), the extremes and the medians to draw, at most as many as the width can
    show. ends: limits of the axes. ascii_only: draw lines with the series' markers instead of braille dots.
    """

    def __init__(
        self,
        chart: Chart,
        marks: Mapping[str, Mark],
        points: Mapping[str, tuple[Points, Points]],
        ends: tuple[Limits, Limits],
        size: tuple[int, int],
        *,
        ascii_only: bool = False,
    ) -> None:
        self.chart, self.ends = chart, ends
        self._marks, self._points, self._ascii = marks, points, ascii_only
        self.width, self.height = size
        # Unit and labels of vertical lines are above the curves; the axis and its labels are below.
        self.head, self._foot = int(self.height >= 6), 2 * (self.height >= 5)
        self.rows = max(1, self.height - self.head - self._foot)
        self._ticks = ticks(chart.y, ends[1], max(2, (self.height - 3) // 2))
        self.left = max(map(cell_len, self._ticks.labels), default=0) + 1
        self._named = [series for series in chart.series if series.label]
        drawn = [series for series in self._named if len(series.y)] or self._named
        self._label = max((cell_len(series.label) for series in drawn), default=0)
        self._note = max((cell_len(series.note) for series in drawn), default=0)
        self._strips = (STRIP + 1) * any(series.median is not None for series in drawn)
        notes = self._strips + self._note if self.width >= NOTES_FROM else 0
        # Shorten the texts of series without points, so that the curves keep their room.
        absent = max((cell_len(f"{series.label} {series.note}") for series in self._named), default=0)
        wanted = 5 + max(self._label + notes, min(absent, ABSENT))
        self._right = min(wanted, self.width * 14 // 25) if self._named and self.width >= LEGEND_FROM else 0
        self.columns = max(4, self.width - self.left - self._right - 1)
        self._canvas = Canvas()

    def column(self, x: float) -> int:
        """Return the column of an x value; for a value outside the limits, a column at most one width outside
        the plot.
        """
        at = place(x, self.ends[0], self.chart.x.log)
        return round(min(2.0, max(-1.0, at)) * (self.columns - 1))

    def row(self, y: float) -> int:
        """Return the row of a y value, counted from the top; for a value outside the limits, a row at most
        one height outside the plot.
        """
        at = place(y, self.ends[1], self.chart.y.log)
        return self.rows - 1 - round(min(2.0, max(-1.0, at)) * (self.rows - 1))

    def mark(self, series: Series) -> Mark:
        without = "•" if len(series.y) else " "
        return self._marks.get(series.arm) or Mark("muted", RULES.get(series.style, without))

    def lines(self, pointed: tuple[Series, int] | None = None, text: str = "") -> list[Line]:
        """Return the lines of the plot. pointed: the point under the cursor, as series and index. text:
        description of this point.
        """
        for vertical in self.chart.verticals:
            at = self.column(vertical.at)
            if vertical.band is not None:
                columns = range(self.column(vertical.band[0]), self.column(vertical.band[1]) + 1)
                self._canvas.shade(range(self.rows), columns, COLUMN)
            self._upright(at, range(self.rows), CROSSOVER, TextStyle("warn"))
        for series in self.chart.series:
            self._draw_level(series)
        for series in self.chart.series:
            self._draw_series(series)
        head = self._head()
        if pointed is not None:
            series, index = pointed
            style = TextStyle(self.mark(series).hue, bold=True)
            self._draw_pointer(series.x[index], series.y[index], replace(style, reverse=True))
            head = head and [((" " + fit(text, self.width - 1), style),)]
        return [*head, *self._body(), *self._axis()][: self.height]

    # Drawing on the canvas

    def _upright(self, column: int, rows: range, character: str, style: TextStyle) -> None:
        self._canvas.below.update(((row, column), (character, style)) for row in rows)

    def _span(self, band: Limits) -> range:
        """Return the rows of a band. A band that is less than one row high gets no row, because a full row
        would exaggerate the interval.
        """
        low, high = (place(y, self.ends[1], self.chart.y.log) for y in band)
        return (
            range(self.row(band[1]), self.row(band[0]) + 1)
            if (high - low) * (self.rows - 1) >= 1
            else range(0)
        )

    def _draw_level(self, series: Series) -> None:
        if series.median is None:
            return
        hue = self.mark(series).hue
        if series.band:
            self._canvas.shade(self._span(series.band), range(self.columns), hue + BAND)
        rule, row = (RULE, TextStyle(f"{hue}/60")), self.row(series.median)
        self._canvas.below.update(((row, column), rule) for column in range(self.columns))

    def _draw_series(self, series: Series) -> None:
        mark = self.mark(series)
        style = TextStyle(f"{mark.hue}/45") if series.ghost else mark.style
        for x, low, high in zip(series.x, series.low, series.high, strict=False):
            rows = self._span((low, high))
            self._upright(self.column(x), rows if len(rows) > 1 else range(0), VERTICAL, style)
        extremes, points = self._points[series.key]
        if series.style == "trace" and len(points[0]) < len(extremes[0]) and not series.ghost:
            self._stamp(extremes, False, mark.marker, TextStyle(f"{mark.hue}/45"), below=True)
        if series.style != "dashes" and len(points[0]) > 1:
            self._stamp(points, True, mark.marker, style, below=series.ghost)
        cells = [(self.row(y), self.column(x)) for x, y in zip(*points, strict=True)]
        if series.style == "trace":
            # Draw markers at different columns for each series, and at its last point, so that series differ
            # without color.
            own = sum(map(ord, series.key)) % APART
            seen = {column: row for row, column in reversed(cells) if (column - own) % APART == 0}
            cells = [] if series.ghost else [*((row, column) for column, row in seen.items()), *cells[-1:]]
        elif series.style == "line" and len(cells) > 1:
            cells = []
        hollow = {cells[i] for i in series.hollow if i < len(cells)}
        for row, column in dict.fromkeys(cells):
            if (row, column) in hollow:
                self._canvas.put(row, column, HOLLOW, style)
            elif series.ghost:
                self._canvas.below[row, column] = mark.marker, style
            else:
                self._canvas.put(row, column, mark.marker, style)

    def _stamp(self, points: Points, joined: bool, marker: str, style: TextStyle, *, below: bool) -> None:
        """Draw points as dots or as a connected line. Omits points that are not finite or far outside."""
        (across, up), (x_log, y_log) = self.ends, (self.chart.x.log, self.chart.y.log)
        places = [(place(x, across, x_log), place(y, up, y_log)) for x, y in zip(*points, strict=True)]
        kept = [at for at in places if all(-1.0 <= each <= 2.0 for each in at)]
        placed = [x for x, _ in kept], [y for _, y in kept]
        drawn = raster(self.columns, self.rows, placed, joined, marker if self._ascii else "braille")
        self._canvas.stamp(drawn, style, below=below)

    def _draw_pointer(self, x: float, y: float, style: TextStyle) -> None:
        row, column = self.row(y), self.column(x)
        for each in range(self.rows):
            self._canvas.below[each, column] = VERTICAL, FAINT
        character = self._canvas.shown(row, column)[0]
        blank = character in (" ", VERTICAL) or _is_line(character)
        self._canvas.series[row, column] = [(THUMB if blank else character, style)]

    def _head(self) -> list[Line]:
        """Return the line above the curves: the unit of the axis, the labels of vertical lines, and the title
        on the right.
        """
        # the labels of times contain the units if the units differ
        name = self.chart.y.label if self.chart.y.kind != "time" else ""
        unit = (self._ticks.unit or name).rjust(self.left - 1)
        line: list[Run] = [(unit, MUTED)]
        used, width = cell_len(unit) + 1, self.left + self.columns
        for vertical in sorted(self.chart.verticals, key=lambda v: v.at):
            at, length = self.left + self.column(vertical.at), cell_len(vertical.label)
            start = min(max(used, at - length // 2), width - length)
            if vertical.label and start >= used and self.left <= at < width:
                line += [(" " * (start - width_of(line)), TEXT), (vertical.label, TextStyle("warn"))]
                used = start + length + 1
        title = self.chart.title
        if used + cell_len(title) + 1 >= width:
            width = self.width - 1  # the title may extend over the legend
        if title and used + cell_len(title) + 1 < width:
            line += [(" " * (width - cell_len(title) - width_of(line)), TEXT), (title, MUTED)]
        return [tuple(line)] * self.head

    def _body(self) -> list[Line]:
        labels: dict[int, str] = {}
        for value, label in zip(self._ticks.values, self._ticks.labels, strict=True):
            labels.setdefault(self.row(value), label)
        legend = self._legend() if self._right else {}
        out: list[Line] = []
        for row in range(self.rows):
            left = fit(labels.get(row, ""), self.left - 1, "right")
            axis = "┤" if row in labels else VERTICAL
            curves = self._canvas.line(row, self.columns)
            out.append(((left, MUTED), (axis, FAINT), *curves, *legend.get(row, [])))
        return out

    def _legend(self) -> dict[int, list[Run]]:
        """Return the legend's entries (marker, label and note of a series) by row: the row of the series'
        median, or else of its last value.

        Entries that would share a row are moved apart.
        """
        shown, room = self._named[: self.rows], self._right - 4
        levels = [s.median if s.median is not None else next(reversed(s.y), None) for s in shown]
        log = self.chart.y.log
        heights = [0.0 if y is None else place(y, self.ends[1], log) for y in levels]
        wanted = [(1 - min(1.0, max(0.0, height))) * (self.rows - 1) for height in heights]
        strips = bool(self._strips) and self._label + 1 + self._strips + self._note <= room
        out: dict[int, list[Run]] = {}
        for series, row in zip(shown, spread(wanted, self.rows), strict=True):
            mark, wide = self.mark(series), self._label if strips else min(room, cell_len(series.label))
            line = [
                (f" {mark.marker} ", mark.style),
                (fit(series.label, wide) + " ", TEXT if len(series.y) else MUTED),
                *([*strip(series, mark.hue), (" ", TEXT)] if strips else []),
            ]
            out[row] = [*line, (fit(series.note, max(0, room + 3 - width_of(line))).rstrip(), MUTED)]
        return out

    def _axis(self) -> list[Line]:
        axis = self.chart.x
        marks = ticks(axis, self.ends[0], max(2, self.columns // 10))
        columns = [self.column(value) for value in marks.values]
        drawn = "".join("┬" if column in columns else "─" for column in range(self.columns))
        name = f"{axis.label} ({marks.unit})" if marks.unit else axis.label
        # The axis's name is below the legend. Without a legend, it follows the last label that fits.
        width = self.left + self.columns
        if cell_len(name) > (self.width - width - 1 if self._right else width // 2):
            name = name.partition(":")[0]  # only the name, without the explanation after the colon
        starts = [
            (min(self.left + column - cell_len(label) // 2, width - cell_len(label)), label)
            for column, label in zip(columns, marks.labels, strict=True)
        ]
        labels = laid(starts, width if self._right else width - cell_len(name) - 1)
        rule: Line = ((" " * (self.left - 1), TEXT), ("└" + drawn, FAINT))
        return [rule, ((f"{labels} {name}", MUTED),)][: self._foot]


def spread(wanted: Sequence[float], rows: int) -> list[int]:
    """Return distinct rows as close as possible to the wanted ones, in the same order. `rows` must be at
    least the number of wanted rows.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    out = [0] * len(wanted)
    last = -1
    for i in order:
        last = out[i] = max(last + 1, round(wanted[i]))
    ceiling = rows
    for i in reversed(order):
        ceiling = out[i] = min(ceiling - 1, out[i])
    return out


def points_of(series: Series) -> range:
    """Return the indices of the points with both coordinates. While data arrives, the series may have more x
    values than y values, or vice versa.
    """
    return range(min(len(series.x), len(series.y)))


def strip(series: Series, hue: str) -> list[Run]:
    """Return a series' distribution as a strip of bars, from the 5% to the 95% quantile. The end cells
    include outliers.

    The height of a bar shows the number of samples. The bar with the median is strong, bars within the
    median's interval have the full hue, others are fainter. The strip is blank for fewer than four samples.
    """
    some = sorted(series.y[:: len(series.y) // MOST_SAMPLES + 1])
    middle = series.median
    if middle is None or len(some) < 4:
        return [(" " * STRIP, TEXT)]
    low, high = some[len(some) // 20], some[-1 - len(some) // 20]
    low, high = min(low, middle) - (high - low) / 8, max(high, middle) + (high - low) / 8
    ends = (low, high) if low < high else (0.99 * low, 1.01 * high)

    def cell(value: float) -> int:
        return min(STRIP - 1, max(0, int(place(value, ends, log=False) * STRIP)))

    cells = [cell(value) for value in some]
    counts = [cells.count(each) for each in range(STRIP)]
    first, last = (cell(value) for value in series.band or (middle, middle))
    out: list[Run] = []
    for each, count in enumerate(counts):
        height = -(-8 * count // max(counts))
        if each == cell(middle):
            out.append((LEVELS[max(1, height)], TextStyle("text", bold=True)))
        else:
            out.append((LEVELS[height], TextStyle(hue if first <= each <= last else hue + "/60")))
    return out


class Plot(LineWidget, can_focus=True):
    """A chart of series over two axes. A cursor shows the values of a point and posts `Pointed`.

    The mouse moves the cursor, and a click keeps it in place. The arrow keys move it along a series and
    between series.
    """

    DEFAULT_CSS = "Plot { height: 1fr; width: 1fr; }"

    HELP = """\
## A plot

Each series has a marker, a hue and a label at the height of its last point or its median.

- In **Live**, a point is the mean time per call of one timed block; the dotted line is the median, and the
shading behind it is its 95% interval. Faint series are earlier runs.
- In **Sweep**, both axes are logarithmic; a bar through a point is its 95% interval; `┊` is the crossover and
the shading next to it is its interval.
- Axes grow in steps and do not scroll, so a curve stays where it was.
- **{plot.before} {plot.next}** move from point to point along a series, **{plot.up} {plot.down}** go to
another series; you can also use the mouse. The line at the top describes the point; a click keeps it there
and adds its caveats, **{plot.release}** releases it.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "along(-1)", "previous point", show=False, id="plot.before"),
        Binding("right", "along(1)", "next point", show=False, id="plot.next"),
        Binding("home", "along(-1000000000)", "first point", show=False, id="plot.first"),
        Binding("end", "along(1000000000)", "last point", show=False, id="plot.last"),
        Binding("up,k", "across(-1)", "series above", show=False, id="plot.up"),
        Binding("down,j", "across(1)", "series below", show=False, id="plot.down"),
        Binding("escape", "release", "release the point", show=False, id="plot.release"),
    ]

    class Pointed(Message):
        """The cursor is on the point at `x` of the series `key`. kept: True if a key or a click moved the
        cursor there, False for a mouse movement.
        """

        def __init__(self, key: str, x: float, kept: bool) -> None:
            super().__init__()
            self.key, self.x, self.kept = key, x, kept

    def __init__(self, *, empty: str = "Nothing has been measured yet.") -> None:
        super().__init__(empty=empty)
        self.chart = Chart()
        self._marks: Mapping[str, Mark] = {}
        self._ends: tuple[Limits | None, Limits | None] = (None, None)
        self._picture: Picture | None = None
        self._thinned: dict[str, Thinned] = {}
        self._at: tuple[str, int] | None = None
        self._kept = False

    def show_chart(self, chart: Chart, marks: Mapping[str, Mark]) -> None:
        """Show a chart. marks: hue and marker of each arm, by arm id."""
        before, self.chart, self._marks = self.chart, chart, marks
        if (chart.key, chart.x, chart.y) != (before.key, before.x, before.y):
            self._ends = None, None
        if chart.key != before.key:
            self._thinned.clear()
            self._at, self._kept = None, False
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not any(len(series.x) for series in self.chart.series):
            return self.empty_lines(width, height)
        points = {series.key: self._points(series, width) for series in self.chart.series}
        self._ends = ends = self._limits({key: extremes for key, (extremes, _) in points.items()})
        ascii_only = bool(getattr(self.app, "ascii_only", False))
        self._picture = Picture(self.chart, self._marks, points, ends, (width, height), ascii_only=ascii_only)
        pointed = self._pointed
        return self._picture.lines(pointed, self._describe_point(*pointed) if pointed else "")

    def _points(self, series: Series, columns: int) -> tuple[Points, Points]:
        thinned = self._thinned.get(series.key)
        if thinned is None or not thinned.follows(series.x, series.y):
            thinned = self._thinned[series.key] = Thinned(series.x, series.y)
        return thinned.points(columns)

    def _limits(self, points: Mapping[str, Points]) -> tuple[Limits, Limits]:
        """Return the limits of the axes. Ghosts count only if no other series has points."""
        chart = self.chart
        own = [series for series in chart.series if not series.ghost and len(series.x)] or chart.series
        xs = [x for series in own for x in points[series.key][0]] + [
            vertical.at for vertical in chart.verticals
        ]
        ys = [y for series in own for y in points[series.key][1]]
        for series in chart.series:
            ys += [*series.low, *series.high, *(series.band or ())]
        return limits(chart.x, xs, self._ends[0]), limits(chart.y, ys, self._ends[1])

    # The cursor

    @property
    def _series(self) -> dict[str, Series]:
        return {s.key: s for s in self.chart.series if not s.ghost and len(s.x) and len(s.y)}

    @property
    def _pointed(self) -> tuple[Series, int] | None:
        """The point under the cursor, as series and index; None if there is none."""
        key, index = self._at or ("", 0)
        series = self._series.get(key)
        return (series, index) if series is not None and index < len(points_of(series)) else None

    def _describe_point(self, series: Series, index: int) -> str:
        if series.tell is not None:
            return f"{series.label}, {series.tell(index)}"
        there = f"{self.chart.x.read_out(series.x[index])}, {self.chart.y.read_out(series.y[index])}"
        return f"{series.label}, {there}{', not finished' if index in series.hollow else ''}"

    def _go(self, series: Series, index: int, *, kept: bool) -> None:
        self._kept = kept
        if (series.key, index) != self._at:
            self._at = series.key, index
            self.repaint()
        self.post_message(self.Pointed(series.key, series.x[index], kept))

    def action_along(self, by: int) -> None:
        """Move to another point of the series. In a long series, a step is as wide as a column."""
        if (pointed := self._pointed) is not None:
            series, index = pointed
            points = points_of(series)
            step = max(1, len(points) // max(1, self.size.width))
            self._go(series, min(len(points) - 1, max(0, index + by * step)), kept=True)
        elif first := next(iter(self._series.values()), None):
            self._go(first, len(points_of(first)) - 1, kept=True)

    def action_across(self, by: int) -> None:
        if (pointed := self._pointed) is None:
            self.action_along(0)
            return
        x = pointed[0].x[pointed[1]]
        there = sorted(((s, nearest(s.x, x)) for s in self._series.values()), key=lambda at: -at[0].y[at[1]])
        now = next(row for row, (series, _) in enumerate(there) if series is pointed[0])
        self._go(*there[min(len(there) - 1, max(0, now + by))], kept=True)

    def action_release(self) -> None:
        if self._at is None:
            raise SkipAction()
        self._at, self._kept = None, False
        self.repaint()

    def _under(self, event: events.MouseEvent) -> tuple[Series, int] | None:
        """Return the point nearest to the mouse, as series and index."""
        at, picture = event.get_content_offset(self), self._picture
        if at is None or picture is None or not self._series:
            return None
        column, row = at.x - picture.left - 1, at.y - picture.head
        if not 0 <= column < picture.columns:
            return None
        x = unplace(column / max(1, picture.columns - 1), picture.ends[0], self.chart.x.log)
        found = [(series, nearest(series.x, x)) for series in self._series.values()]
        return min(found, key=lambda one: abs(picture.row(one[0].y[one[1]]) - row))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        found = None if self._kept else self._under(event)
        if found is not None and (found[0].key, found[1]) != self._at:
            self._go(*found, kept=False)

    def on_leave(self) -> None:
        if self._at is not None and not self._kept:
            self._at = None
            self.repaint()

    def on_click(self, event: events.Click) -> None:
        if (found := self._under(event)) is not None:
            self._go(*found, kept=True)
            if len(told := self._describe_point(*found)) >= self.size.width:
                self.notify(told, markup=False)
