"""The base class of all views, and what the views share."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual.containers import Vertical
from textual.widget import Widget

from tuilab.lab.changes import Change
from tuilab.lab.state import LabState
from tuilab.model.result import ArmResult, RunResult
from tuilab.model.run import RunState
from tuilab.presentation.view_options import ViewOptions
from tuilab.report.rows import folded
from tuilab.tui.widgets.look import Mark, marks_for

if TYPE_CHECKING:
    from tuilab.lab import Lab


class View(Vertical):
    DEFAULT_CSS = "View { height: 1fr; }"
    wants: ClassVar[Change] = Change.FIGURES

    def __init__(self, lab: "Lab", viewing: ViewOptions, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lab, self.viewing = lab, viewing

    def draw(self) -> None:
        raise NotImplementedError

    def on_resize(self) -> None:
        self.draw()

    def place(self) -> Widget | None:
        """Return the widget that gets the focus when the view opens: by default, the first focusable
        widget.
        """
        return next((w for w in self.query("*") if w.focusable), None)

    def take_focus(self) -> None:
        place = self.place()
        if place is not None:
            place.focus()


def marks(state: RunState) -> dict[str, Mark]:
    """Return the hue and the marker of each arm, by arm id; the same in all views."""
    return marks_for([known.arm for known in state.arms.values()])


def figures(lab_state: LabState, viewing: ViewOptions) -> Mapping[str, ArmResult]:
    result = lab_state.result()
    drawn = viewing.drawn_arms(lab_state.shown)
    return {arm.id: arm for arm in result.arms if arm.id in drawn} if result else {}


def able(state: RunState, viewing: ViewOptions) -> set[str]:
    """Return the ids of the drawn arms that can run on this machine, or of all drawn arms if none can."""
    drawn = viewing.drawn_arms(state)
    return {arm for arm in drawn if state.arms[arm].status != "unavailable"} or drawn


def folded_result(lab_state: LabState, viewing: ViewOptions, *, going: bool) -> RunResult | None:
    """Return the current run's result with only the drawn arms, merged by `rows.folded`; None if there is no
    run.

    going: True if the run may still be active.
    """
    result = lab_state.result()
    return (
        replace(result, arms=tuple(folded(list(figures(lab_state, viewing).values()), going=going)))
        if result
        else None
    )


def fitting(table: Widget, rows: int, room: int) -> None:
    """Set a table's height for its rows and header, up to `room` lines. Hides the table if fewer than two
    rows fit.
    """
    height = min(rows + 2, room)
    table.styles.height = height if rows and height >= 3 else 0
