"""The plot, and the one place that knows the plotting library.

plotext turns a series into characters on a grid of cells; axes, legend and colours are ours, so that they
fit the theme, stay still while data grows, and read the same without colour.
"""

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import Any

from tuilab.tui.widgets.chart import Chart, Limits, Thinned, limits
from tuilab.tui.widgets.compose import Points, compose
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


class Plot(LineWidget, can_focus=False):
    """A chart of series over two axes. Set `chart`; only what differs is drawn and sent."""

    DEFAULT_CSS = "Plot { height: 1fr; width: 1fr; }"

    HELP = """\
## A plot

Each series has a marker, a hue and a label that stands at the height of its last point or its median.

- In **Live**, a point is the mean time per call of one timed block; the dotted line is the median, the shade
  behind it its 95 % interval. Faint series are earlier runs.
- In **Sweep**, both axes are logarithmic; a bar through a point is its 95 % interval; `┊` is the crossover
  and the shade beside it its interval.
- Axes grow in steps and do not scroll, so that a curve stays where it was.
"""

    def __init__(
        self,
        chart: Chart | None = None,
        *,
        empty: str = "Nothing has been measured yet.",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, id=id, classes=classes)
        self._chart = chart or Chart()
        self._ends: tuple[Limits | None, Limits | None] = (None, None)
        self._axes: tuple[object, ...] = ()
        self._thinned: dict[str, Thinned] = {}

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
        self._chart = chart
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        chart = self._chart
        if not any(len(series.x) for series in chart.series):
            return self.empty_lines(width, height)
        points = {series.key: self._points(series.key, series.x, series.y, width) for series in chart.series}
        middles = {s.key: self._thinned[s.key].middles(width) for s in chart.series if s.style == "trace"}
        ends = self._limits(points)
        return compose(chart, (width, height), ends, points, self.glyphs, raster, middles)

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
