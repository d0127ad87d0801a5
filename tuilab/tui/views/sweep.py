"""The view of time against size, with the size at which one arm overtakes another."""

from typing import ClassVar

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuilab.lab.changes import Change
from tuilab.model.errors import InputError
from tuilab.model.result import RunResult
from tuilab.presentation.status import why_empty
from tuilab.report.chart import Chart, live_chart
from tuilab.report.rows import crossing_lines, unmeasured_lines
from tuilab.report.sweep import describe_point, heat_of, pair, sweep_chart
from tuilab.tui.views.base import View, able, folded_result, marks
from tuilab.tui.views.sentences import Sentences
from tuilab.tui.widgets.heatmap import HeatMap
from tuilab.tui.widgets.plot import Plot

PLOT_ROWS = 12
"""Rows reserved for the plot. The sentences about the plot get up to four of the remaining rows, but at least
one.
"""


class SweepView(View):
    HELP = """\
## Sweep

Before the first point, the plot shows the warm-up, which is not counted. Both axes are logarithmic. A point
is the median at that size, with its 95% interval; `◌` is an unfinished point, which the text below ignores;
`┊` is a crossover found by bisection, with its interval shaded. The slider shows the crossover too.
**{plot.before} {plot.next}** (or a click) move along a curve, and the slider follows; below are the answer at
that size and the placement of its ops. The frame has the color of the device that is faster at that size.
**{sweep.measure}** measures that size. A dashed line is the best case on a GPU you do not have, from its data
sheet: a bound, not a measurement. **{sweep}** sweeps over the workload's size, or over the axes given by the
preset.
"""

    wants = Change.FIGURES | Change.PROGRESS  # the plot shows the progress until the first point
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "measure_here", "measure here", show=False, id="sweep.measure"),
    ]

    _here: tuple[str, int] | None = None
    """The point that the user selected on a curve: key of the series, and size."""

    def compose(self) -> ComposeResult:
        yield Plot()
        yield HeatMap()
        yield Sentences()

    def draw(self) -> None:
        lab_state = self.lab.state
        plot, heat, sentences = self.query_one(Plot), self.query_one(HeatMap), self.query_one(Sentences)
        result = self._result
        looks, two = marks(lab_state.shown), result is not None and len(result.axis) == 2
        plot.display, heat.display = not two, two
        if result is None or not result.points:
            plot.empty = why_empty(lab_state)
            if not lab_state.running:
                plot.empty = (
                    "No sweep yet. {sweep} measures over a range of sizes and looks for the crossover."
                )
            plot.show_chart(Chart(), looks)
            sentences.show(())
            self._frame("")
            return
        here, family = list[str](), ""
        if two:
            heat.show_heat(heat_of(result, *pair(result)), looks)
        else:
            # Fold only arms that cannot run at all: another arm without figures at this point may have
            # figures at another size.
            drawn = folded_result(lab_state, self.viewing, going=True) or result
            plot.empty = why_empty(lab_state)
            chart = sweep_chart(drawn)
            if lab_state.shown.running and not any(series.x for series in chart.series):
                shown = able(lab_state.shown, self.viewing)
                chart = live_chart(lab_state.shown, shown=shown.__contains__, point=lab_state.point)
            plot.show_chart(chart, looks)
            if self._here is not None:
                here, family = describe_point(lab_state.shown, self._here[0], (result.axis[0], self._here[1]))
        self._frame(family)
        most = max(1, min(4, self.size.height - PLOT_ROWS))
        # during the run, the header shows the remaining sizes
        unmeasured = [] if lab_state.shown.running else unmeasured_lines(result)
        sentences.show([*here, *crossing_lines(result), *unmeasured][: max(most, len(here))])

    @property
    def _result(self) -> RunResult | None:
        """The current sweep's result so far; None without a sweep."""
        return self.lab.state.result() if self.lab.state.shown.sweep else None

    # A point that the user selects on a curve moves the slider.

    @on(Plot.Pointed)
    def _pointed(self, event: Plot.Pointed) -> None:
        event.stop()
        state, result = self.lab.state, self._result
        if not event.kept or result is None or len(result.axis) != 1:
            return
        self._here = event.key, int(event.x)
        if state.settings is not None:
            try:
                self.lab.set(state.settings.with_value(result.axis[0], int(event.x)), False)
            except InputError as error:
                self.notify(str(error), severity="warning", markup=False)
        self.draw()

    def action_measure_here(self) -> None:
        if self._here is None:
            raise SkipAction()
        self.lab.begin()

    def _frame(self, family: str) -> None:
        """Color the frame for the device family that is faster at the selected size; "" restores the default
        color.
        """
        for name in ("CPU", "GPU"):
            self.screen.query("#views").set_class(name == family, f"-{name.lower()}")

    def on_hide(self) -> None:
        self._frame("")
