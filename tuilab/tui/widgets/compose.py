"""A plot as lines of text: axes, bands, curves, verticals and the legend beside the curves. Pure.

How a curve becomes characters is given as a function (`Raster`), so that this file knows no plotting library.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from types import MappingProxyType

from rich.cells import cell_len

from tuilab.tui.widgets.chart import Chart, Limits, Series, place, spread
from tuilab.tui.widgets.look import FAINT, MUTED, TEXT, Glyphs, Line, Run, TextStyle
from tuilab.tui.widgets.ticks import Ticks, ticks
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


@dataclass(frozen=True)
class Layout:
    """How a plot's width and height are shared out. All in cells."""

    left: int
    columns: int
    right: int
    head: int
    rows: int
    foot: int


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


def compose(
    chart: Chart,
    size: tuple[int, int],
    ends: tuple[Limits, Limits],
    points: Mapping[str, Points],
    glyphs: Glyphs,
    raster: Raster,
    middles: Mapping[str, Points] = MappingProxyType({}),
    pointer: Pointer | None = None,
) -> list[Line]:
    """The whole plot in `size` (width, height), its axes going from and to `ends`."""
    width, height = size
    y_ticks, layout = layout_of(chart, size, ends)
    x_ticks = ticks(chart.x, ends[0], max(2, layout.columns // 10))
    canvas = Canvas(layout.columns, layout.rows)
    _draw_verticals(canvas, chart, ends[0], glyphs)
    for series in chart.series:
        _draw_level(canvas, chart, series, ends[1], glyphs)
    for series in chart.series:
        some = middles.get(series.key, points[series.key])
        _draw_series(canvas, chart, series, ends, points[series.key], some, glyphs, raster)
    if pointer is not None:
        _draw_pointer(canvas, chart, pointer, ends, glyphs)
    body = _body(chart, canvas, layout, y_ticks, ends[1], points, glyphs)
    head = _head(chart, layout, y_ticks, ends[0], glyphs)
    if pointer is not None and head:
        said = (
            (" " + fit(pointer.text, width - 1, ellipsis=glyphs.ellipsis), TextStyle(pointer.hue, bold=True)),
        )
        head = [said, *head[1:]]
    return [*head, *body, *_foot(chart, layout, x_ticks, ends[0], glyphs)][:height]


def layout_of(chart: Chart, size: tuple[int, int], ends: tuple[Limits, Limits]) -> tuple[Ticks, Layout]:
    """The ticks of y, and how the size is shared out."""
    y_ticks = ticks(chart.y, ends[1], max(2, (size[1] - 3) // 2))
    return y_ticks, arrange(chart, *size, y_ticks)


def _draw_pointer(
    canvas: Canvas, chart: Chart, pointer: Pointer, ends: tuple[Limits, Limits], glyphs: Glyphs
) -> None:
    column = column_of(place(pointer.x, ends[0], chart.x.log), canvas.columns)
    row = row_of(place(pointer.y, ends[1], chart.y.log), canvas.rows)
    for other in range(canvas.rows):
        canvas.put(column, other, glyphs.vertical, FAINT)
    canvas.mark(column, row, TextStyle(pointer.hue, bold=True, reverse=True), glyphs.thumb)


def arrange(chart: Chart, width: int, height: int, y_ticks: Ticks) -> Layout:
    """Share out the width and the height."""
    left = max((cell_len(label) for label in y_ticks.labels), default=0) + 1
    right = 0
    if chart.series and width >= LEGEND_FROM:
        strips = STRIP + 1 if any(s.strip for s in chart.series) else 0
        widest = max((cell_len(s.label) for s in chart.series), default=0) + 1
        widest += strips + max((cell_len(s.note) for s in chart.series), default=0)
        right = min(widest + 4, width * 14 // 25)
    foot = 2 if height >= 5 else 1 if height >= 4 else 0
    columns = max(4, width - left - right - 1)
    head = 1 if height >= 6 else 0
    if not right and height >= 8:
        head = bool(chart.verticals) + min(2, len(_legend_rows(chart, width)))
    return Layout(left, columns, right, head, max(1, height - foot - head), foot)


def _draw_verticals(canvas: Canvas, chart: Chart, ends: Limits, glyphs: Glyphs) -> None:
    for vertical in chart.verticals:
        at = column_of(place(vertical.at, ends, chart.x.log), canvas.columns)
        if vertical.low is not None and vertical.high is not None:
            low, high = (
                column_of(place(v, ends, chart.x.log), canvas.columns) for v in (vertical.low, vertical.high)
            )
            canvas.shade(range(low, high + 1), range(canvas.rows), COLUMN)
        for row in range(canvas.rows):
            canvas.put(at, row, glyphs.crossover, TextStyle("warn"))


def _draw_series(
    canvas: Canvas,
    chart: Chart,
    series: Series,
    ends: tuple[Limits, Limits],
    points: Points,
    middles: Points,
    glyphs: Glyphs,
    raster: Raster,
) -> None:
    style = _style(series)
    if series.low and series.high and len(series.low) == len(points[0]):
        for x, low, high in zip(points[0], series.low, series.high, strict=False):
            column = column_of(place(x, ends[0], chart.x.log), canvas.columns)
            rows = _span((low, high), ends[1], chart.y.log, canvas.rows)
            for row in rows if len(rows) > 1 else ():
                canvas.put(column, row, glyphs.vertical, style)
    xs, ys = _placed(points, ends, chart)
    marker = glyphs.marker(series.mark.marker)
    if series.style == "trace":
        _draw_trace(canvas, series, (xs, ys), _placed(middles, ends, chart), glyphs, raster)
        return
    if series.style != "points" and len(xs) > 1:
        stroke = marker if glyphs.ascii else "braille"
        lines = raster(
            canvas.columns, canvas.rows, *fewer(xs, ys, 2 * canvas.columns, 4 * canvas.rows), True, stroke
        )
        canvas.stamp(lines, style, below=series.ghost)
    if (series.style != "line" or len(xs) == 1) and xs:
        cells = dict.fromkeys(zip(*fewer(xs, ys, canvas.columns, canvas.rows), strict=True))
        xs, ys = zip(*cells, strict=True)
        canvas.stamp(raster(canvas.columns, canvas.rows, xs, ys, False, marker), style, below=series.ghost)


def _placed(points: Points, ends: tuple[Limits, Limits], chart: Chart) -> Points:
    """The points between 0 and 1 on either axis; what lies far beyond, or nowhere, is left out."""
    places = (
        (place(x, ends[0], chart.x.log), place(y, ends[1], chart.y.log)) for x, y in zip(*points, strict=True)
    )
    kept = [p for p in places if all(-1.0 <= at <= 2.0 for at in p)]
    return [x for x, _ in kept], [y for _, y in kept]


def fewer(xs: Sequence[float], ys: Sequence[float], columns: int, rows: int) -> Points:
    """The points on a grid of so many dots, without those that fall on the dot before them."""
    grid = [
        (round(x * (columns - 1)) / max(1, columns - 1), round(y * (rows - 1)) / max(1, rows - 1))
        for x, y in zip(xs, ys, strict=True)
    ]
    kept = [point for point, before in zip(grid, [None, *grid], strict=False) if point != before]
    return [x for x, _ in kept], [y for _, y in kept]


def _draw_trace(
    canvas: Canvas, series: Series, extremes: Points, middles: Points, glyphs: Glyphs, raster: Raster
) -> None:
    """A line of braille dots through the medians, the arm's marker on it here and there; extremes as dots."""
    style, (xs, ys) = _style(series), middles
    marker = glyphs.marker(series.mark.marker)
    dots = marker if glyphs.ascii else "braille"
    columns, rows = canvas.columns, canvas.rows
    if len(xs) < len(extremes[0]) and not series.ghost:
        some = fewer(*extremes, 2 * columns, 4 * rows)
        faint = TextStyle(series.mark.hue + "/45")
        canvas.stamp(raster(columns, rows, *some, False, dots), faint, below=True)
    if len(xs) > 1:
        line = fewer(xs, ys, 2 * columns, 4 * rows)
        canvas.stamp(raster(columns, rows, *line, True, dots), style, below=series.ghost)
    if series.ghost or not xs:
        return
    # Told apart without colour too: markers at columns of the series' own, and at its last point.
    first = sum(map(ord, series.key)) % APART
    seen: dict[int, tuple[float, float]] = {}
    for x, y in zip(xs, ys, strict=True):
        column = column_of(x, columns)
        if (column - first) % APART == 0:
            seen.setdefault(column, (x, y))
    marked = [*seen.values(), (xs[-1], ys[-1])]
    marks = fewer([x for x, _ in marked], [y for _, y in marked], columns, rows)
    canvas.stamp(raster(columns, rows, *marks, False, marker), style)


def _style(series: Series) -> TextStyle:
    return TextStyle(f"{series.mark.hue}/45") if series.ghost else series.mark.style


def _draw_level(canvas: Canvas, chart: Chart, series: Series, ends: Limits, glyphs: Glyphs) -> None:
    if series.median is None:
        return
    if series.band:
        rows = _span(series.band, ends, chart.y.log, canvas.rows)
        canvas.shade(range(canvas.columns), rows, series.mark.hue + BAND)
    row = row_of(place(series.median, ends, chart.y.log), canvas.rows)
    for column in range(canvas.columns):
        canvas.put(column, row, glyphs.rule, TextStyle(f"{series.mark.hue}/60"))


def _span(band: Limits, ends: Limits, log: bool, rows: int) -> range:
    """The rows from the band's high end to its low one; none where it is lower than one row.

    To draw a whole row for less would show an interval that is not so wide.
    """
    low, high = (place(value, ends, log) for value in band)
    if not (high - low) * (rows - 1) >= 1:
        return range(0)
    return range(row_of(high, rows), row_of(low, rows) + 1)


def column_of(where: float, columns: int) -> int:
    """The column of a place between 0 (left) and 1 (right); far outside stays outside."""
    return round(min(2.0, max(-1.0, where)) * (columns - 1))


def row_of(where: float, rows: int) -> int:
    """The row, from the top, of a place between 0 (bottom) and 1 (top)."""
    return rows - 1 - round(min(2.0, max(-1.0, where)) * (rows - 1))


def _body(
    chart: Chart,
    canvas: Canvas,
    layout: Layout,
    y_ticks: Ticks,
    ends: Limits,
    points: Mapping[str, Points],
    glyphs: Glyphs,
) -> list[Line]:
    labels: dict[int, str] = {}
    for value, label in zip(y_ticks.values, y_ticks.labels, strict=True):
        labels.setdefault(row_of(place(value, ends, chart.y.log), layout.rows), label)
    legend = _legend(chart, layout, ends, points, glyphs) if layout.right else {}
    out: list[Line] = []
    for row in range(layout.rows):
        axis = glyphs.tick_y if row in labels else glyphs.vertical
        left = fit(labels.get(row, ""), layout.left - 1, "right")
        out.append(((left, MUTED), (axis, FAINT), *canvas.line(row), *legend.get(row, [])))
    return out


def _legend(
    chart: Chart, layout: Layout, ends: Limits, points: Mapping[str, Points], glyphs: Glyphs
) -> dict[int, list[Run]]:
    """Each series' marker, label and note at the height of its level, moved apart where they collide."""
    shown = [series for series in chart.series if series.label][: layout.rows]
    wanted = []
    for series in shown:
        level = series.median if series.median is not None else next(reversed(points[series.key][1]), None)
        where = 0.0 if level is None else place(level, ends, chart.y.log)
        wanted.append((1 - min(1.0, max(0.0, where))) * (layout.rows - 1))
    room = layout.right - 4
    named = min(max((cell_len(s.label) for s in shown), default=0), room)
    noted = max((cell_len(s.note) for s in shown), default=0)
    strips = any(s.strip for s in shown) and named + STRIP + 2 + noted <= room
    out: dict[int, list[Run]] = {}
    for series, row in zip(shown, spread(wanted, layout.rows), strict=True):
        wide = named if strips else min(room, cell_len(series.label))
        label = fit(series.label, wide, ellipsis=glyphs.ellipsis)
        used = wide + 1 + (STRIP + 1 if strips else 0)
        note = fit(series.note, max(0, room - used), ellipsis=glyphs.ellipsis).rstrip()
        quiet = MUTED if not points[series.key][1] else TEXT
        marker = glyphs.marker(series.mark.marker)
        out[row] = [(f" {marker} ", series.mark.style), (label + " ", quiet)]
        if strips:
            out[row] += [*strip_runs(series, glyphs), (" ", TEXT)]
        out[row].append((note, MUTED))
    return out


def strip_runs(series: Series, glyphs: Glyphs) -> list[Run]:
    """A distribution as bars: the median's cell strong, its interval in the series' hue, the rest fainter."""
    strip = series.strip
    if strip is None:
        return [(" " * STRIP, TEXT)]
    bars = " .:-=+*#@" if glyphs.ascii else " ▁▂▃▄▅▆▇█"
    runs: list[Run] = []
    for cell, height in enumerate(strip.cells):
        if cell == strip.median:
            runs.append((bars[max(1, height)], TextStyle("text", bold=True)))
        else:
            hue = series.mark.hue if cell in strip.inside else series.mark.hue + "/60"
            runs.append((bars[height], TextStyle(hue)))
    return runs


def _legend_rows(chart: Chart, width: int) -> list[list[Series]]:
    """The series in rows of at most `width` cells, the first one shorter by the unit of y before it."""
    rows: list[list[Series]] = [[]]
    used = UNIT
    for series in chart.series:
        if series.label:
            length = cell_len(f"* {series.label}  ")
            if used + length > width and rows[-1]:
                rows.append([])
                used = UNIT
            rows[-1].append(series)
            used += length
    return rows


def _head(chart: Chart, layout: Layout, y_ticks: Ticks, ends: Limits, glyphs: Glyphs) -> list[Line]:
    """The unit of y, the labels of verticals above them, and the legend where there is no room beside."""
    if not layout.head:
        return []
    unit = fit(y_ticks.unit, layout.left - 1, "right") if y_ticks.unit else chart.y.label
    out: list[Line] = []
    if layout.right or chart.verticals:
        out.append(_top(chart, layout, unit, ends))
        unit = ""
    elif layout.head:
        unit = y_ticks.unit
    for series_row in _legend_rows(chart, layout.left + layout.columns)[: layout.head - len(out)]:
        line: list[Run] = [(fit(unit, UNIT), MUTED)]
        unit = ""
        for series in series_row:
            style = series.mark.style
            line += [(f"{glyphs.marker(series.mark.marker)} ", style), (series.label + "  ", TEXT)]
        out.append(tuple(line))
    return out


def _top(chart: Chart, layout: Layout, unit: str, ends: Limits) -> Line:
    """The unit above the axis, the verticals' labels above them, the title at the right."""
    line: list[Run] = [(unit, MUTED)]
    used, width = cell_len(unit) + 1, layout.left + layout.columns
    for vertical in sorted(chart.verticals, key=lambda v: v.at):
        at = layout.left + column_of(place(vertical.at, ends, chart.x.log), layout.columns)
        length = cell_len(vertical.label)
        start = min(max(used, at - length // 2), width - length)
        if vertical.label and start >= used and layout.left <= at < width:
            line += [(" " * (start - width_of(line)), TEXT), (vertical.label, TextStyle("warn"))]
            used = start + length + 1
    if chart.title and used + cell_len(chart.title) + 1 < width:
        line += [(" " * (width - cell_len(chart.title) - width_of(line)), TEXT), (chart.title, MUTED)]
    return tuple(line)


def _foot(chart: Chart, layout: Layout, x_ticks: Ticks, ends: Limits, glyphs: Glyphs) -> list[Line]:
    if not layout.foot:
        return []
    columns = [column_of(place(v, ends, chart.x.log), layout.columns) for v in x_ticks.values]
    axis = [glyphs.horizontal] * layout.columns
    for column in columns:
        axis[column] = glyphs.tick_x
    out: list[Line] = [((" " * (layout.left - 1), TEXT), (glyphs.corner + "".join(axis), FAINT))]
    if layout.foot < 2:
        return out
    name = " ".join(part for part in (chart.x.label, x_ticks.unit and f"({x_ticks.unit})") if part)
    # The axis's name stands under the legend where there is one, else behind the last label that fits.
    row = [" "] * (layout.left + layout.columns)
    limit = len(row) if layout.right else len(row) - cell_len(name) - 1
    used = 0
    for column, label in zip(columns, x_ticks.labels, strict=True):
        start = min(layout.left + column - cell_len(label) // 2, len(row) - cell_len(label))
        if start >= used and start + cell_len(label) <= limit:
            row[start : start + cell_len(label)] = label
            used = start + cell_len(label) + 1
    text = "".join(row) if layout.right else "".join(row)[: limit + 1]
    gap = " " if layout.right else ""
    out.append(((text, MUTED), (gap + name, MUTED)))
    return out
