"""A plot as lines of text: axes, bands, curves, verticals and the legend beside the curves. Pure.

How a curve becomes characters is given as a function (`Raster`), so that this file knows no plotting library.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from rich.cells import cell_len

from tuilab.report.axes import Limits, Ticks, laid, place, ticks
from tuilab.tui.widgets.chart import Chart, Series, spread
from tuilab.tui.widgets.look import (
    CROSSOVER,
    FAINT,
    LEVELS,
    MUTED,
    RULE,
    TEXT,
    THUMB,
    VERTICAL,
    Line,
    Run,
    TextStyle,
)
from tuilab.tui.widgets.wording import fit, width_of

Points = tuple[Sequence[float], Sequence[float]]
# (columns, rows, x, y, connected, marker) with x and y from 0 to 1 → rows of text, top first.
Raster = Callable[[int, int, Sequence[float], Sequence[float], bool, str], Sequence[str]]

LEGEND_FROM = 64
STRIP = 8
"""Cells of a distribution."""
APART = 14
"""Columns from one marker of a trace to its next."""
UNIT = 4
BAND, COLUMN = "/22", "warn/18"
BLANK_DOTS = "\u2800"


@dataclass(frozen=True)
class Pointer:
    """A point that is read out: where it lies, the hue of its series, and what is said of it."""

    x: float
    y: float
    hue: str
    text: str


class Canvas:
    """Cells of (character, style), rows from the top.

    Rules, bars and ghosts lie below the series. Where series meet, they take turns from column to column.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._below: list[list[Run]] = [[(" ", TEXT)] * columns for _ in range(rows)]
        self._series: list[list[list[Run]]] = [[[] for _ in range(columns)] for _ in range(rows)]
        self._grounds = [[""] * columns for _ in range(rows)]

    def put(self, column: int, row: int, character: str, style: TextStyle) -> None:
        """Put a character below the series."""
        if 0 <= column < self.columns and 0 <= row < self.rows:
            self._below[row][column] = (character, style)

    def stamp(self, lines: Sequence[str], style: TextStyle, *, below: bool = False) -> None:
        """Lay a drawing of a series on the canvas.

        A marker replaces lines; markers take turns with markers, and lines with lines.
        """
        for row, line in enumerate(lines[: self.rows]):
            for column, character in enumerate(line[: self.columns]):
                if character in (" ", BLANK_DOTS):
                    continue
                if below:
                    self._below[row][column] = (character, style)
                    continue
                cell = self._series[row][column]
                if not _is_line(character):
                    cell[:] = [run for run in cell if not _is_line(run[0])]
                elif any(not _is_line(run[0]) for run in cell):
                    continue
                cell.append((character, style))

    def mark(self, column: int, row: int, style: TextStyle, otherwise: str) -> None:
        """Let what stands in a cell stand out; `otherwise` where nothing does."""
        if 0 <= column < self.columns and 0 <= row < self.rows:
            cell = self._series[row][column]
            character = next((c for c, _ in cell if not _is_line(c)), otherwise)
            cell[:] = [(character, style)]

    def shade(self, columns: range, rows: range, ground: str) -> None:
        """Give a rectangle a ground."""
        for row in range(max(0, rows.start), min(self.rows, rows.stop)):
            for column in range(max(0, columns.start), min(self.columns, columns.stop)):
                self._grounds[row][column] = ground

    def line(self, row: int) -> list[Run]:
        """A row as runs of the same style."""
        seen: list[Run] = []
        for column, cell in enumerate(self._series[row]):
            character, style = _turn(cell, column) if cell else self._below[row][column]
            ground = self._grounds[row][column]
            if ground:
                style = replace(style, on=ground)
            elif character == " " and seen and not seen[-1][1].on:
                # A blank has no colour: with that of the character before it, fewer colours need be sent.
                style = seen[-1][1]
            seen.append((character, style))
        groups = groupby(seen, key=lambda cell: cell[1])
        return [("".join(cell[0] for cell in group), style) for style, group in groups]


def _is_line(character: str) -> bool:
    return BLANK_DOTS <= character <= "\u28ff"


def _turn(cell: Sequence[Run], column: int) -> Run:
    """What shows of several: the dots of all lines together, and else one after another."""
    character, style = cell[column % len(cell)]
    if _is_line(character):
        dots = 0
        for other, _ in cell:
            dots |= ord(other)
        character = chr(dots)
    return character, style


@dataclass(frozen=True)
class Layout:
    """How a plot's width and height are shared out (all in cells), and where on it values lie."""

    chart: Chart
    width: int
    height: int
    ends: tuple[Limits, Limits]
    """From and to where its axes go."""

    @cached_property
    def y_ticks(self) -> Ticks:
        """The ticks of y, whose labels say how wide the left is."""
        return ticks(self.chart.y, self.ends[1], max(2, (self.height - 3) // 2))

    @cached_property
    def left(self) -> int:
        """Left of the curves: the labels of y."""
        return max(map(cell_len, self.y_ticks.labels), default=0) + 1

    @cached_property
    def right(self) -> int:
        """Beside the curves: the legend, 0 where there is no room for it."""
        series = self.chart.series
        if not series or self.width < LEGEND_FROM:
            return 0
        strips = STRIP + 1 if any(s.strip for s in series) else 0
        widest = max(cell_len(s.label) for s in series) + 1 + strips + max(cell_len(s.note) for s in series)
        return min(widest + 4, self.width * 14 // 25)

    @cached_property
    def columns(self) -> int:
        """What is left for the curves."""
        return max(4, self.width - self.left - self.right - 1)

    @cached_property
    def foot(self) -> int:
        """Under the curves: the axis, and its labels."""
        return 2 if self.height >= 5 else 1 if self.height >= 4 else 0

    @cached_property
    def head(self) -> int:
        """Above them: the unit, the labels of verticals, a legend for which there is no room beside."""
        if not self.right and self.height >= 8:
            return bool(self.chart.verticals) + min(2, len(self.legend_rows(self.width)))
        return 1 if self.height >= 6 else 0

    @cached_property
    def rows(self) -> int:
        """What is left for the curves."""
        return max(1, self.height - self.foot - self.head)

    def legend_rows(self, width: int) -> list[list[Series]]:
        """The series in rows of at most `width` cells, the first one shorter by the unit of y before it."""
        rows: list[list[Series]] = [[]]
        used = UNIT
        for series in self.chart.series:
            if series.label:
                length = cell_len(f"* {series.label}  ")
                if used + length > width and rows[-1]:
                    rows.append([])
                    used = UNIT
                rows[-1].append(series)
                used += length
        return rows

    def across(self, x: float) -> float:
        """Where an x lies between left (0) and right (1)."""
        return place(x, self.ends[0], self.chart.x.log)

    def up(self, y: float) -> float:
        """Where a y lies between bottom (0) and top (1)."""
        return place(y, self.ends[1], self.chart.y.log)

    def column(self, x: float) -> int:
        """The column of an x; far outside stays outside."""
        return round(min(2.0, max(-1.0, self.across(x))) * (self.columns - 1))

    def row(self, y: float) -> int:
        """The row, from the top, of a y; far outside stays outside."""
        return self.rows - 1 - round(min(2.0, max(-1.0, self.up(y))) * (self.rows - 1))

    def span(self, band: Limits) -> range:
        """The rows from the band's high end to its low one; none where it is lower than one row.

        To draw a whole row for less would show an interval that is not so wide.
        """
        low, high = band
        if not (self.up(high) - self.up(low)) * (self.rows - 1) >= 1:
            return range(0)
        return range(self.row(high), self.row(low) + 1)

    def placed(self, points: Points) -> Points:
        """The points between 0 and 1 on either axis; what lies far beyond, or nowhere, is left out."""
        places = ((self.across(x), self.up(y)) for x, y in zip(*points, strict=True))
        kept = [p for p in places if all(-1.0 <= at <= 2.0 for at in p)]
        return [x for x, _ in kept], [y for _, y in kept]


class Drawing:
    """One plot. points: of each series by its key, few enough for the width; middles: of traces, likewise.

    ascii: the terminal has no dots of braille, so that lines are drawn with the series' markers.
    """

    def __init__(
        self,
        layout: Layout,
        points: Mapping[str, Points],
        middles: Mapping[str, Points],
        raster: Raster,
        ascii: bool,
    ) -> None:
        self._layout, self._chart, self._ascii = layout, layout.chart, ascii
        self._points, self._middles, self._raster = points, middles, raster
        self._canvas = Canvas(layout.columns, layout.rows)

    def lines(self, pointer: Pointer | None = None) -> list[Line]:
        """The whole plot."""
        for vertical in self._chart.verticals:
            self._draw_vertical(vertical.at, vertical.low, vertical.high)
        for series in self._chart.series:
            self._draw_level(series)
        for series in self._chart.series:
            self._draw_series(series)
        if pointer is not None:
            self._draw_pointer(pointer)
        head, body, width = self._head(), self._body(), self._layout.width
        if pointer is not None and head:
            style = TextStyle(pointer.hue, bold=True)
            head = [((" " + fit(pointer.text, width - 1), style),), *head[1:]]
        return [*head, *body, *self._foot()][: self._layout.height]

    # On the canvas

    def _stamp(self, points: Points, connected: bool, marker: str, style: TextStyle, below: bool) -> None:
        drawn = self._raster(self._canvas.columns, self._canvas.rows, *points, connected, marker)
        self._canvas.stamp(drawn, style, below=below)

    def _on_cells(self, points: Points) -> Points:
        return fewer(points, self._canvas.columns, self._canvas.rows)

    def _on_dots(self, points: Points) -> Points:
        return fewer(points, 2 * self._canvas.columns, 4 * self._canvas.rows)

    def _draw_pointer(self, pointer: Pointer) -> None:
        column = self._layout.column(pointer.x)
        for row in range(self._canvas.rows):
            self._canvas.put(column, row, VERTICAL, FAINT)
        style = TextStyle(pointer.hue, bold=True, reverse=True)
        self._canvas.mark(column, self._layout.row(pointer.y), style, THUMB)

    def _draw_vertical(self, at: float, low: float | None, high: float | None) -> None:
        column, rows = self._layout.column, range(self._canvas.rows)
        if low is not None and high is not None:
            self._canvas.shade(range(column(low), column(high) + 1), rows, COLUMN)
        for row in rows:
            self._canvas.put(column(at), row, CROSSOVER, TextStyle("warn"))

    def _draw_level(self, series: Series) -> None:
        if series.median is None:
            return
        if series.band:
            columns, rows = range(self._canvas.columns), self._layout.span(series.band)
            self._canvas.shade(columns, rows, series.mark.hue + BAND)
        row = self._layout.row(series.median)
        for column in range(self._canvas.columns):
            self._canvas.put(column, row, RULE, TextStyle(f"{series.mark.hue}/60"))

    def _draw_series(self, series: Series) -> None:
        points, style = self._points[series.key], series.drawn_style
        if series.low and series.high and len(series.low) == len(points[0]):
            for x, low, high in zip(points[0], series.low, series.high, strict=False):
                rows = self._layout.span((low, high))
                for row in rows if len(rows) > 1 else ():
                    self._canvas.put(self._layout.column(x), row, VERTICAL, style)
        placed, marker = self._layout.placed(points), series.mark.marker
        dots = marker if self._ascii else "braille"
        if series.style == "trace":
            self._draw_trace(series, placed, dots)
            return
        if series.style != "points" and len(placed[0]) > 1:
            self._stamp(self._on_dots(placed), True, dots, style, series.ghost)
        if (series.style != "line" or len(placed[0]) == 1) and placed[0]:
            cells = dict.fromkeys(zip(*self._on_cells(placed), strict=True))
            self._stamp(_pair(cells), False, marker, style, series.ghost)

    def _draw_trace(self, series: Series, extremes: Points, dots: str) -> None:
        """A line of dots through the medians, the arm's marker on it here and there; extremes as dots."""
        middles = self._layout.placed(self._middles.get(series.key, self._points[series.key]))
        xs, ys = middles
        if len(xs) < len(extremes[0]) and not series.ghost:
            faint = TextStyle(series.mark.hue + "/45")
            self._stamp(self._on_dots(extremes), False, dots, faint, True)
        if len(xs) > 1:
            self._stamp(self._on_dots(middles), True, dots, series.drawn_style, series.ghost)
        if series.ghost or not xs:
            return
        # Told apart without colour too: markers at columns of the series' own, and at its last point.
        first = sum(map(ord, series.key)) % APART
        seen: dict[int, tuple[float, float]] = {}
        for x, y in zip(xs, ys, strict=True):
            column = round(x * (self._canvas.columns - 1))
            if (column - first) % APART == 0:
                seen.setdefault(column, (x, y))
        marks = self._on_cells(_pair([*seen.values(), (xs[-1], ys[-1])]))
        self._stamp(marks, False, series.mark.marker, series.drawn_style, False)

    # Around it

    def _body(self) -> list[Line]:
        layout, labels = self._layout, dict[int, str]()
        for value, label in zip(layout.y_ticks.values, layout.y_ticks.labels, strict=True):
            labels.setdefault(layout.row(value), label)
        legend = self._legend() if layout.right else {}
        out: list[Line] = []
        for row in range(layout.rows):
            axis = "┤" if row in labels else VERTICAL
            left = fit(labels.get(row, ""), layout.left - 1, "right")
            out.append(((left, MUTED), (axis, FAINT), *self._canvas.line(row), *legend.get(row, [])))
        return out

    def _legend(self) -> dict[int, list[Run]]:
        """Each series' marker, label and note at the height of its level, moved apart where they collide."""
        layout = self._layout
        shown = [series for series in self._chart.series if series.label][: layout.rows]
        wanted = []
        for series in shown:
            ys = self._points[series.key][1]
            level = series.median if series.median is not None else next(reversed(ys), None)
            where = 0.0 if level is None else layout.up(level)
            wanted.append((1 - min(1.0, max(0.0, where))) * (layout.rows - 1))
        room = layout.right - 4
        named = min(max((cell_len(s.label) for s in shown), default=0), room)
        noted = max((cell_len(s.note) for s in shown), default=0)
        strips = any(s.strip for s in shown) and named + STRIP + 2 + noted <= room
        out: dict[int, list[Run]] = {}
        for series, row in zip(shown, spread(wanted, layout.rows), strict=True):
            wide = named if strips else min(room, cell_len(series.label))
            used = wide + 1 + (STRIP + 1 if strips else 0)
            quiet = MUTED if not self._points[series.key][1] else TEXT
            out[row] = [
                (f" {series.mark.marker} ", series.mark.style),
                (fit(series.label, wide) + " ", quiet),
            ]
            if strips:
                out[row] += [*strip_runs(series), (" ", TEXT)]
            out[row].append((fit(series.note, max(0, room - used)).rstrip(), MUTED))
        return out

    def _head(self) -> list[Line]:
        """The unit of y, the labels of verticals above them, and the legend where there is no room beside."""
        layout = self._layout
        if not layout.head:
            return []
        unit, out = layout.y_ticks.unit, list[Line]()
        if layout.right or self._chart.verticals:
            out.append(self._top(fit(unit, layout.left - 1, "right") if unit else self._chart.y.label))
            unit = ""
        for series_row in layout.legend_rows(layout.left + layout.columns)[: layout.head - len(out)]:
            line: list[Run] = [(fit(unit, UNIT), MUTED)]
            unit = ""
            for series in series_row:
                line += [(f"{series.mark.marker} ", series.mark.style), (series.label + "  ", TEXT)]
            out.append(tuple(line))
        return out

    def _top(self, unit: str) -> Line:
        """The unit above the axis, the verticals' labels above them, the title at the right."""
        layout, title = self._layout, self._chart.title
        line: list[Run] = [(unit, MUTED)]
        used, width = cell_len(unit) + 1, layout.left + layout.columns
        for vertical in sorted(self._chart.verticals, key=lambda v: v.at):
            at = layout.left + layout.column(vertical.at)
            length = cell_len(vertical.label)
            start = min(max(used, at - length // 2), width - length)
            if vertical.label and start >= used and layout.left <= at < width:
                line += [(" " * (start - width_of(line)), TEXT), (vertical.label, TextStyle("warn"))]
                used = start + length + 1
        if title and used + cell_len(title) + 1 < width:
            line += [(" " * (width - cell_len(title) - width_of(line)), TEXT), (title, MUTED)]
        return tuple(line)

    def _foot(self) -> list[Line]:
        layout, axis = self._layout, self._chart.x
        if not layout.foot:
            return []
        marks = ticks(axis, layout.ends[0], max(2, layout.columns // 10))
        columns = [layout.column(value) for value in marks.values]
        drawn = "".join("┬" if column in columns else "─" for column in range(layout.columns))
        out: list[Line] = [((" " * (layout.left - 1), TEXT), ("└" + drawn, FAINT))]
        if layout.foot < 2:
            return out
        name = " ".join(part for part in (axis.label, marks.unit and f"({marks.unit})") if part)
        # The axis's name stands under the legend where there is one, else behind the last label that fits.
        width = layout.left + layout.columns
        starts = [
            (min(layout.left + column - cell_len(label) // 2, width - cell_len(label)), label)
            for column, label in zip(columns, marks.labels, strict=True)
        ]
        labels = laid(starts, width if layout.right else width - cell_len(name) - 1)
        return [*out, ((f"{labels} {name}", MUTED),)]


def _pair(points: Iterable[tuple[float, float]]) -> Points:
    xs, ys = zip(*points, strict=True)
    return xs, ys


def fewer(points: Points, columns: int, rows: int) -> Points:
    """The points on a grid of so many dots, without those that fall on the dot before them."""
    grid = [
        (round(x * (columns - 1)) / max(1, columns - 1), round(y * (rows - 1)) / max(1, rows - 1))
        for x, y in zip(*points, strict=True)
    ]
    kept = [point for point, before in zip(grid, [None, *grid], strict=False) if point != before]
    return [x for x, _ in kept], [y for _, y in kept]


def strip_runs(series: Series) -> list[Run]:
    """A distribution as bars: the median's cell strong, its interval in the series' hue, the rest fainter."""
    strip = series.strip
    if strip is None:
        return [(" " * STRIP, TEXT)]
    runs: list[Run] = []
    for cell, height in enumerate(strip.cells):
        if cell == strip.median:
            runs.append((LEVELS[max(1, height)], TextStyle("text", bold=True)))
        else:
            hue = series.mark.hue if cell in strip.inside else series.mark.hue + "/60"
            runs.append((LEVELS[height], TextStyle(hue)))
    return runs
