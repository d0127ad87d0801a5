"""The view that compares each arm with the maximum performance of its device."""

from textual.app import ComposeResult

from tuilab.presentation.status import why_empty
from tuilab.report.chart import Chart
from tuilab.report.roofline import roofline_chart
from tuilab.tui.views.base import View, marks
from tuilab.tui.views.sentences import Sentences
from tuilab.tui.widgets.plot import Plot

PLOT_ROWS = 10


class RooflineView(View):
    HELP = """\
## Roofline

Both axes are logarithmic: operations per byte that a call must move, and operations per second. The lines are
this machine's own roofs, measured once (`tuilab machine`): the slope is the bandwidth of its memory or cache,
the level is its arithmetic rate in a dtype. A point far below every line has another limit: starting the
call, copies, or its input. In a sweep, a line connects the sizes of an arm. The text shows each arm's share
of the roof and its limit.
"""

    def compose(self) -> ComposeResult:
        yield Plot()
        yield Sentences()

    def draw(self) -> None:
        lab_state = self.lab.state
        plot, state, drawn, result = (
            self.query_one(Plot),
            lab_state.shown,
            self.viewing.drawn_arms(lab_state.shown),
            lab_state.result(),
        )
        plot.empty = why_empty(lab_state)
        chart, lines = Chart(), list[str]()
        if result is not None:
            plot.empty = (
                "The amount of work per call of this run is unknown, so it cannot be compared with a roof."
            )
            chart = roofline_chart(state, drawn.__contains__)
            lines = [arm.roof.sentence for arm in result.arms if arm.roof is not None and arm.id in drawn]
        plot.show_chart(chart, marks(state))
        if lines and not state.roofs:
            lines = ["This machine's roofs are measured after its first run.", *lines]
        self.query_one(Sentences).show(lines[: max(0, min(4, self.size.height - PLOT_ROWS))])
