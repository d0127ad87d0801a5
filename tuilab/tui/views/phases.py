"""Phases: where a call's time goes."""

from textual.app import ComposeResult

from tuilab.lab.status import why_no_phases
from tuilab.tui.views.base import View, folded_result, marks
from tuilab.tui.views.sentences import Sentences
from tuilab.tui.widgets.phases import Phases

ROOM = 10
"""Rows that the bars and their legend keep."""


class PhasesView(View):
    """Stacked bars."""

    HELP = Phases.HELP

    def compose(self) -> ComposeResult:
        yield Phases()
        yield Sentences()

    def draw(self) -> None:
        state, phases = self.lab.state, self.query_one(Phases)
        result = folded_result(state, going=state.shown.running)
        arms = result.arms if result else ()
        phases.empty = why_no_phases(state)
        phases.show_arms(arms, marks(state.shown))
        roofs = [arm.roof.sentence for arm in arms if arm.roof is not None] if result and result.roofs else []
        room = max(0, min(4, self.size.height - len(arms) - ROOM))
        self.query_one(Sentences).say(roofs[:room])
