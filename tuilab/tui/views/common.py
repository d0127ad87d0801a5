"""What several views need of the lab's state."""

from collections.abc import Mapping

from msgspec.structs import replace
from textual.widget import Widget

from tuilab.lab.state import LabState
from tuilab.model.result import ArmResult, RunResult
from tuilab.model.run import RunState
from tuilab.report.rows import folded
from tuilab.tui.widgets.look import Mark, marks_for


def marks(state: RunState) -> dict[str, Mark]:
    """The hue and marker of each arm: the same in every view of the run."""
    return marks_for([known.arm for known in state.arms.values()])


def figures(lab_state: LabState) -> Mapping[str, ArmResult]:
    """The figures of the arms that are drawn, by id."""
    result = lab_state.result()
    return {arm.id: arm for arm in result.arms if arm.id in lab_state.drawn} if result else {}


def folded_result(lab_state: LabState, *, going: bool) -> RunResult | None:
    """What the run on the screen came to, with the arms that are drawn, as `folded`; None without a run."""
    result, drawn = lab_state.result(), lab_state.drawn
    if result is None:
        return None
    arms = folded([arm for arm in result.arms if arm.id in drawn], going=going)
    return replace(result, arms=tuple(arms))


def fitting(table: Widget, rows: int, room: int) -> None:
    """Give a table its rows and head, in at most `room` lines; nothing at all where two do not fit."""
    height = min(rows + 2, room)
    table.styles.height = height if rows and height >= 3 else 0
