"""Placement: every op of the run, where it ran and why there."""

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList

from tuilab.lab import Lab
from tuilab.lab.status import why_empty
from tuilab.model.result import PlacementRow
from tuilab.model.run import RunState
from tuilab.tui.panels.placement import Group, PlacementRows, group_of, groups
from tuilab.tui.views.base import View
from tuilab.tui.views.filtered import Filtered
from tuilab.tui.widgets.lists import placement_table


class PlacementView(View):
    """The placement log with a filter."""

    HELP = """\
## Placement

At the top, how many ops ran where, and why; **enter** shows the rows of a group, *every op* all of them.
Below, each op as observed: the device that computed it, the memory that holds its output if that is
elsewhere, and the reason if it is not the requested device. A copy between devices is a row of its own, with
its bytes; ops that the optimiser folded away are counted. **/** filters, **o** sorts by the next column.
"""
    DEFAULT_CSS = """
    PlacementView OptionList { height: auto; max-height: 40%; background: transparent; }
    PlacementView OptionList:focus { background-tint: transparent; }
    """

    def __init__(self, lab: Lab, id: str | None = None) -> None:
        super().__init__(lab, id)
        self._drawn: object = None
        self._labels: dict[str, str] = {}
        self._groups: list[Group] = []
        self._state: RunState | None = None

    def compose(self) -> ComposeResult:
        yield OptionList(compact=True, markup=False)
        self.table = placement_table(arm_label=lambda arm: self._labels.get(arm, arm))
        yield Filtered("ops", self.table)

    def draw(self) -> None:
        lab_state = self.lab.state
        state = lab_state.shown
        self.table.empty = why_empty(lab_state)
        if state.run and state.running:
            self.table.empty = "The placement is recorded after the warm-up."
        elif state.status == "ok":
            self.table.empty = "No op of this run was observed."
        key = (state.run, sum(len(nodes) for arm in state.arms.values() for nodes in arm.placement.values()))
        if key != self._drawn:
            self._drawn = key
            self._labels = {arm: known.label for arm, known in state.arms.items()}
            self._state, self._groups = state, groups(state)
            self.table.set_rows(PlacementRows(state))
            listed = self.query_one(OptionList)
            listed.display = bool(self._groups)
            listed.set_options([Content("every op"), *map(_row, self._groups)])
            listed.highlighted = 0

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        """Show the rows of a group."""
        event.stop()
        if self._state is None:
            return
        rows: Sequence[PlacementRow] = PlacementRows(self._state)
        if event.option_index:
            group = self._groups[event.option_index - 1]
            rows = [row for row in rows if group_of(row) == (group.kind, group.device, group.reason)]
        self.table.set_rows(rows)

    def place(self) -> Widget:
        listed = self.query_one(OptionList)
        return listed if listed.display else self.table


def _row(group: Group) -> Content:
    more = ", ".join(group.ops[:4]) + (" …" if len(group.ops) > 4 else "")
    return Content.assemble(str(group), (f"  {more}", "$text-muted"))
