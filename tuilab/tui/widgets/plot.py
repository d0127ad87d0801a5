"""The plot, and the one place that knows the plotting library.

plotext turns a series into characters on a grid of cells; axes, legend and colours are ours, so that they
fit the theme, stay still while data grows, and read the same without colour.
"""

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any, ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message

from tuilab.model.quantity import seconds
from tuilab.report.axes import Limits, limits, nearest, unplace
from tuilab.tui.widgets.chart import Chart, Series, Thinned
from tuilab.tui.widgets.compose import Drawing, Layout, Pointer, Points
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import Line

_loading = Lock()


def figure() -> Any:
    """The plotting library's one figure. Its import takes longer than a first paint may, so that a thread may
    ask for it ahead."""
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


def raster(
    columns: int, rows: int, x: Sequence[float], y: Sequence[float], connected: bool, marker: str
) -> list[str]:
    """A series drawn on `columns` × `rows` cells, as text, top row first.

    x, y: from 0 to 1, from the middle of the first cell to that of the last; what lies beyond is cut off.
    marker: one character, or `braille` for dots of an eighth of a cell.
    """
    plot = figure()
    plot.clear.data()
    plot.plot_size(columns, rows)
    signal = plot.signal(list(x), list(y), marker=marker)
    plot.draw(signal.lines(True) if connected else signal)
    return str(plot.build().string(True)).splitlines()


class Plot(LineWidget, can_focus=True):
    """A chart of series over two axes. Set `chart`. A cursor reads points out; `Pointed` says which.

    The mouse moves the cursor, and a click keeps it; the arrows go from point to point and from series to
    series.
    """

    DEFAULT_CSS = "Plot { height: 1fr; width: 1fr; }"

    HELP = """\
## A plot

Each series has a marker, a hue and a label at the height of its last point or its median.

- In **Live**, a point is the mean time per call of one timed block; the dotted line is the median, the shade
  behind it its 95 % interval. Faint series are earlier runs.
- In **Sweep**, both axes are logarithmic; a bar through a point is its 95 % interval; `┊` is the crossover
  and the shade beside it its interval.
- Axes grow in steps and do not scroll, so a curve stays where it was.
- **← →** move along a series from point to point, **↑ ↓** to the next series; so does the mouse. The line at
  the top describes the point; a click holds it and adds its caveats, **escape** releases it.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "along(-1)", "point before", show=False, id="plot.before"),
        Binding("right", "along(1)", "next point", show=False, id="plot.next"),
        Binding("home", "along(-1000000000)", "first point", show=False, id="plot.first"),
        Binding("end", "along(1000000000)", "last point", show=False, id="plot.last"),
        Binding("up,k", "across(-1)", "series above", show=False, id="plot.up"),
        Binding("down,j", "across(1)", "series below", show=False, id="plot.down"),
        Binding("escape", "release", "release the point", show=False, id="plot.release"),
    ]

    class Pointed(Message):
        """The cursor is on a point of the series with this key, at `x`. By keys or a click: `kept`."""

        def __init__(self, key: str, x: float, kept: bool) -> None:
            super().__init__()
            self.key, self.x, self.kept = key, x, kept

    def __init__(self, chart: Chart | None = None, *, empty: str = "Nothing has been measured yet.") -> None:
        super().__init__(empty=empty)
        self._chart = chart or Chart()
        self._ends: tuple[Limits | None, Limits | None] = (None, None)
        self._axes: tuple[object, ...] = ()
        self._layout: Layout | None = None
        self._thinned: dict[str, Thinned] = {}
        self._at: tuple[str, int] | None = None
        self._kept = False

    @property
    def chart(self) -> Chart:
        """What is drawn."""
        return self._chart

    @chart.setter
    def chart(self, chart: Chart) -> None:
        axes = (chart.key, chart.x, chart.y)
        if axes != self._axes:
            self._ends, self._axes = (None, None), axes
        if chart.key != self._chart.key:
            self._thinned.clear()
            self._at, self._kept = None, False
        self._chart = chart
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        chart = self._chart
        if not any(len(series.x) for series in chart.series):
            return self.empty_lines(width, height)
        points = {series.key: self._points(series.key, series.x, series.y, width) for series in chart.series}
        middles = {s.key: self._thinned[s.key].middles(width) for s in chart.series if s.style == "trace"}
        self._layout = Layout(chart, width, height, self._limits(points))
        ascii_only = bool(getattr(self.app, "ascii_only", False))
        return Drawing(self._layout, points, middles, raster, ascii_only).lines(self._pointer())

    # The cursor

    def _series(self) -> list[Series]:
        """The series that can be pointed at."""
        return [s for s in self._chart.series if not s.ghost and len(s.x) and len(s.y)]

    def _pointer(self) -> Pointer | None:
        if self._at is None:
            return None
        series = next((s for s in self._series() if s.key == self._at[0]), None)
        if series is None or self._at[1] >= len(series.y):
            self._at = None
            return None
        index = self._at[1]
        return Pointer(
            series.x[index], series.y[index], series.mark.hue, f"{series.label}, {self._told(series, index)}"
        )

    def _told(self, series: Series, index: int) -> str:
        if series.tell is not None:
            return series.tell(index)
        axes = zip((self._chart.x, self._chart.y), (series.x[index], series.y[index]), strict=True)
        forms = {"binary": ",.0f", "count": ",.0f"}
        return ", ".join(
            f"{axis.label} {seconds(v) if axis.kind == 'time' else format(v, forms.get(axis.kind, ',.6g'))}"
            for axis, v in axes
        )

    def _go(self, key: str, index: int, *, kept: bool) -> None:
        self._kept = kept
        if (key, index) != self._at:
            self._at = key, index
            self.repaint()
        series = next(s for s in self._series() if s.key == key)
        self.post_message(self.Pointed(key, series.x[index], kept))

    def action_along(self, by: int) -> None:
        """To the next point of the series or the one before; in a long one as far as a column is wide."""
        series = self._series()
        if not series:
            return
        one = next((s for s in series if self._at and s.key == self._at[0]), None)
        if one is None or self._at is None:
            self._go(series[0].key, len(series[0].y) - 1, kept=True)
            return
        step = max(1, len(one.y) // max(1, self.size.width))
        self._go(one.key, min(len(one.y) - 1, max(0, self._at[1] + by * step)), kept=True)

    def action_across(self, by: int) -> None:
        """To the series above or below, at the same place."""
        series = self._series()
        one = next((s for s in series if self._at and s.key == self._at[0]), None)
        if one is None or self._at is None:
            self.action_along(0)
            return
        x = one.x[self._at[1]]
        ordered = sorted(series, key=lambda s: -s.y[nearest(s.x, x)])
        other = ordered[min(len(ordered) - 1, max(0, ordered.index(one) + by))]
        self._go(other.key, nearest(other.x, x), kept=True)

    def action_release(self) -> None:
        """Let the point go."""
        if self._at is None:
            raise SkipAction()
        self._at, self._kept = None, False
        self.repaint()

    def _under(self, event: events.MouseEvent) -> tuple[str, int] | None:
        """The series and the point nearest to the mouse."""
        at, series, layout = event.get_content_offset(self), self._series(), self._layout
        if at is None or not series or layout is None:
            return None
        column, row = at.x - layout.left - 1, at.y - layout.head
        if not 0 <= column < layout.columns:
            return None
        x = unplace(column / max(1, layout.columns - 1), layout.ends[0], self._chart.x.log)
        found = [(s, nearest(s.x, x)) for s in series]
        one, index = min(found, key=lambda some: abs(layout.row(some[0].y[some[1]]) - row))
        return one.key, index

    def on_mouse_move(self, event: events.MouseMove) -> None:
        found = None if self._kept else self._under(event)
        if found is not None and found != self._at:
            self._go(*found, kept=False)

    def on_leave(self) -> None:
        if self._at is not None and not self._kept:
            self._at = None
            self.repaint()

    def on_click(self, event: events.Click) -> None:
        found = self._under(event)
        if found is not None:
            self._go(*found, kept=True)
            pointer = self._pointer()
            if pointer is not None and len(pointer.text) >= self.size.width:
                self.notify(pointer.text, markup=False)

    def _points(self, key: str, x: Sequence[float], y: Sequence[float], columns: int) -> Points:
        thinned = self._thinned.get(key)
        if thinned is None or not thinned.follows(x, y):
            thinned = self._thinned[key] = Thinned(x, y)
        return thinned.points(columns)

    def _limits(self, points: dict[str, Points]) -> tuple[Limits, Limits]:
        chart = self._chart
        ghosts = {series.key for series in chart.series if series.ghost}
        own = [some for key, some in points.items() if key not in ghosts and some[0]] or list(points.values())
        xs = [x for some, _ in own for x in some]
        ys = [y for _, some in own for y in some]
        for series in chart.series:
            ys += [*(series.low or ()), *(series.high or ()), *(series.band or ())]
        for vertical in chart.verticals:
            xs.append(vertical.at)
        ends = limits(chart.x, xs, self._ends[0]), limits(chart.y, ys, self._ends[1])
        self._ends = ends
        return ends
