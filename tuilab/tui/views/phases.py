"""Phases: where a call's time goes."""

from textual.app import ComposeResult

from tuilab.lab.status import why_empty
from tuilab.tui.views.base import View
from tuilab.tui.views.common import folded_result, marks
from tuilab.tui.views.sentences import Sentences
from tuilab.tui.widgets.from_run import phases_of
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
        lab_state = self.lab.state
        phases = self.query_one(Phases)
        result = lab_state.result()
        drawn = folded_result(lab_state, going=lab_state.shown.running)
        rows = phases_of(drawn, marks(lab_state.shown)) if drawn else []
        known = any(row.arm.phases_s for row in rows)
        phases.empty = why_empty(lab_state)
        if rows and lab_state.shown.running:
            phases.empty = "The phases are measured after the rounds, so as not to disturb them."
        elif (
            refused := next((arm.phases_note for arm in result.arms if arm.phases_note), "") if result else ""
        ):
            phases.empty = f"Phases were measured, but are {refused}."
        elif rows and lab_state.shown.status == "cancelled":
            phases.empty = "The run was stopped before its phases were measured. r measures again."
        elif rows:
            phases.empty = "No phases were measured in this run; r measures with them."
        phases.show_rows(rows if known else [])
        arms = drawn.arms if drawn and drawn.roofs else ()
        said = [arm.roof.sentence for arm in arms if arm.roof is not None]
        self.query_one(Sentences).say(tuple(said[: max(0, min(4, self.size.height - len(rows) - ROOM))]))
