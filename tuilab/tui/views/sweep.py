"""Sweep: time against size, and the size at which one arm overtakes another."""

from textual.app import ComposeResult

from tuilab.lab.changes import Change
from tuilab.lab.state import LabState
from tuilab.model.parameters import LogInteger
from tuilab.model.result import Crossover, RunResult
from tuilab.tui.views.base import View
from tuilab.tui.views.common import FIGURES, marks, why_empty
from tuilab.tui.views.sentences import Sentences
from tuilab.tui.widgets.chart import Chart
from tuilab.tui.widgets.from_run import crossovers, heat_of, sweep_chart
from tuilab.tui.widgets.heatmap import HeatMap
from tuilab.tui.widgets.plot import Plot

PLOT_ROWS = 12
"""What the plot keeps before the sentences get more than one."""


class SweepView(View):
    """Curves over one axis, a map over two, and under them what they say."""

    HELP = """\
## Sweep

Both axes are logarithmic. A point is the median at that size, with its 95 % interval; `┊` is where two arms
cross, found by bisection, with its interval as a shade. The crossover is marked on the slider too.
**s** sweeps over the workload's size, or over the axes that the preset names.
"""

    def compose(self) -> ComposeResult:
        yield Plot()
        yield HeatMap()
        yield Sentences()

    def wants(self, change: Change) -> bool:
        return bool(change & FIGURES)

    def draw(self) -> None:
        session = self.lab.state
        plot, heat, sentences = self.query_one(Plot), self.query_one(HeatMap), self.query_one(Sentences)
        result = session.result() if session.shown.sweep else None
        series = marks(session.shown)
        two = result is not None and len(result.axis) == 2
        plot.display, heat.display = not two, two
        if result is None or not result.points:
            plot.empty = why_empty(session)
            if not session.running:
                plot.empty = "No sweep yet: s measures over a range of sizes and looks for the crossover."
            plot.chart = Chart()
            sentences.say(())
            return
        if two:
            heat.show_heat(heat_of(result, *pair(result), series, binary=binary_axes(session, result)))
        else:
            drawn = session.drawn
            plot.chart = sweep_chart(
                result, series, shown=drawn.__contains__, binary=binary_axes(session, result)[0]
            )
        most = max(1, min(4, self.size.height - PLOT_ROWS))
        sentences.say(tuple(c.sentence for c in said(result))[:most])

    def on_resize(self) -> None:
        self.draw()


def binary_axes(session: LabState, result: RunResult) -> tuple[bool, bool]:
    """For each axis, whether its values are counted in powers of two."""
    settings = session.settings
    parameters = [settings.declaration.parameter(name) if settings else None for name in result.axis]
    out = [isinstance(p, LogInteger) and p.binary for p in parameters]
    return out[0], out[-1]


def pair(result: RunResult) -> tuple[str, str]:
    """The two arms that a map compares: those of the first crossover looked for, else the first two."""
    for crossover in crossovers(result):
        return crossover.a, crossover.b
    ids = [arm.id for arm in result.arms if arm.median_s is not None] or [arm.id for arm in result.arms]
    return ids[0], ids[min(1, len(ids) - 1)]


def said(result: RunResult) -> list[Crossover]:
    """The crossovers that have something to say, those that were found first."""
    return sorted((c for c in crossovers(result) if c.sentence), key=lambda c: c.at is None)
