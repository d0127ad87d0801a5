"""Placement: every op of the run, where it ran and why there."""

from typing import Any, cast

from tuilab.lab import Lab
from tuilab.lab.changes import Change
from tuilab.tui.panels.placement import PlacementRows
from tuilab.tui.views.common import FIGURES, why_empty
from tuilab.tui.views.filtered import Filtered
from tuilab.tui.widgets.lists import placement_table
from tuilab.tui.widgets.table import Table


class PlacementView(Filtered):
    """The placement log with a filter."""

    HELP = """\
## Placement

Each op as observed: the device that computed it, the memory that holds its output where that is another one,
and the reason where it is not the device that was asked for. A copy between devices is a row of its own, with
its bytes; what the optimiser folded away is counted. **/** filters, **o** sorts by the next column.
"""
    what = "ops"

    def __init__(self, lab: Lab, id: str | None = None) -> None:
        super().__init__(lab, id)
        self._drawn: object = None
        self._labels: dict[str, str] = {}

    def make(self) -> Table[Any]:
        return cast("Table[Any]", placement_table(arm_label=lambda arm: self._labels.get(arm, arm)))

    def wants(self, change: Change) -> bool:
        return bool(change & FIGURES)

    def draw(self) -> None:
        session = self.lab.state
        state = session.shown
        self.table.empty = why_empty(session)
        if state.run and state.running:
            self.table.empty = "The placement is looked at after the warm-up."
        elif state.status == "ok":
            self.table.empty = "No op of this run was observed."
        key = (state.run, sum(len(nodes) for arm in state.arms.values() for nodes in arm.placement.values()))
        if key != self._drawn:
            self._drawn = key
            self._labels = {arm: known.label for arm, known in state.arms.items()}
            self.table.set_rows(PlacementRows(state))
