"""Compare: the arms' medians side by side."""

from textual.app import ComposeResult

from tuilab.lab.changes import Change
from tuilab.tui.views.base import View
from tuilab.tui.views.common import FIGURES, fitting, marks, why_empty
from tuilab.tui.widgets.bars import Bars
from tuilab.tui.widgets.from_run import bars_of
from tuilab.tui.widgets.numbers import Numbers


class Compare(View):
    """Bars, and under them the numbers where there is room."""

    HELP = """\
## Compare

A bar for each arm, the fastest first: the median time per call with its 95 % interval, and how many times the
fastest arm's time it takes, paired round by round. `%` switches between a linear and a logarithmic scale.
"""

    DEFAULT_CSS = "Compare Numbers { height: 0; }"

    def compose(self) -> ComposeResult:
        yield Bars()
        yield Numbers()

    def wants(self, change: Change) -> bool:
        return bool(change & FIGURES)

    def draw(self) -> None:
        session = self.lab.state
        bars, numbers = self.query_one(Bars), self.query_one(Numbers)
        result = session.result()
        series = marks(session.shown)
        bars.empty = why_empty(session)
        drawn = session.drawn
        bars.show_bars([b for b in bars_of(result, series) if b.key in drawn] if result else [])
        arms = [arm for arm in result.arms if arm.id in drawn] if result else []
        # A row an arm and a row for the scale; the rest is for the numbers, if it is enough.
        fitting(numbers, len(arms), self.size.height - len(arms) - 3)
        numbers.update_arms(arms, series)

    def on_resize(self) -> None:
        self.draw()
