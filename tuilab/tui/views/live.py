"""The view of each arm's samples, as they arrive."""

from textual.app import ComposeResult

from tuilab.presentation.status import why_empty
from tuilab.report.chart import live_chart
from tuilab.report.rows import folded
from tuilab.tui.views.base import View, able, figures, fitting, marks
from tuilab.tui.widgets.numbers import Numbers
from tuilab.tui.widgets.plot import Plot

PLOT_ROWS = 22
"""Rows reserved for the plot. The table of figures gets the remaining rows."""


class Live(View):
    HELP = """\
## Live

The line connects the mean times per call of the timed blocks, one block per round; in each round the arms
take turns in random order. In a long run, the line connects medians of neighboring blocks, with the extremes
as faint dots. The dotted line and its band are the median and its 95% interval. Faint lines are earlier runs
with other settings (**{arms}** chooses what is drawn). Before the first round, the plot shows the warm-up,
which is not counted, and the number of arms that have not started.

Next to each name is the distribution of its samples, with the median bright. If there is room, the table
below shows median, interval, number of samples, and the first call (tracing and compiling included).
"""

    DEFAULT_CSS = "Live Numbers { height: 0; }"

    def compose(self) -> ComposeResult:
        yield Plot()
        yield Numbers()

    def draw(self) -> None:
        lab_state = self.lab.state
        state, known, looks = lab_state.shown, figures(lab_state, self.viewing), marks(lab_state.shown)
        plot, numbers = self.query_one(Plot), self.query_one(Numbers)
        plot.empty = why_empty(lab_state)
        chart = live_chart(
            state,
            figures=known,
            shown=able(state, self.viewing).__contains__,
            ghosts=lab_state.ghosts.under(state) if self.viewing.ghosts else (),
            point=lab_state.point,
        )
        plot.show_chart(chart, looks)
        arms = folded(list(known.values()), going=state.running)
        if state.running and all(arm.median_s is None for arm in arms):
            arms = [arm for arm in arms if arm.first_call_s is not None]
        fitting(numbers, len(arms), self.size.height - PLOT_ROWS)
        numbers.update_arms(arms, looks)
