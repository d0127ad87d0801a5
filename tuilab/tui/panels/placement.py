"""The log under the controls: where each op of the run went, as it becomes known."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import overload

from textual.app import ComposeResult
from textual.containers import Container

from tuilab.lab.state import LabState
from tuilab.model.result import PlacementRow, placement_row
from tuilab.model.run import RunState
from tuilab.tui.widgets.lists import placement_table


class PlacementLog(Container):
    """The placement rows of the run on the screen, in the panel's own frame."""

    HELP = """\
## Placement

Each op as it was placed: which arm, which op, the device that computed it, and why there. Rows where another
device was asked for are marked. The whole log, with a filter, is the Placement view (**6**).
"""

    def __init__(self) -> None:
        super().__init__()
        self._labels: dict[str, str] = {}
        self._table = placement_table(arm_label=lambda arm: self._labels.get(arm, arm))
        self._drawn: object = None

    def compose(self) -> ComposeResult:
        yield self._table

    def draw(self, session: LabState) -> None:
        """Show the rows, where there are others than before."""
        state = session.shown
        key = (state.run, sum(len(nodes) for arm in state.arms.values() for nodes in arm.placement.values()))
        if key != self._drawn:
            self._drawn = key
            self._labels = {arm: known.label for arm, known in state.arms.items()}
            rows = PlacementRows(state)
            self._table.set_rows(rows)
            if self.parent is not None:
                self.parent.border_title = title(rows.counts())  # type: ignore[attr-defined]


class PlacementRows(Sequence[PlacementRow]):
    """A row for each op of the run, copies and folded groups included.

    Made when it is looked at: a hundred thousand are then no more than the run's own state, however many
    tables show them.
    """

    def __init__(self, state: RunState) -> None:
        self._parts = [
            (arm, nodes, len(nodes))
            for arm, known in state.arms.items()
            for nodes in known.placement.values()
        ]
        self._ends = list(accumulate(count for _, _, count in self._parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, place: int) -> PlacementRow: ...

    @overload
    def __getitem__(self, place: slice) -> list[PlacementRow]: ...

    def __getitem__(self, place: int | slice) -> PlacementRow | list[PlacementRow]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        part = bisect_right(self._ends, at)
        arm, nodes, count = self._parts[part]
        return placement_row(arm, nodes[at - self._ends[part] + count])

    def counts(self) -> Counter[str]:
        """How many ops, copies and folded ones there are."""
        out: Counter[str] = Counter()
        for _, nodes, count in self._parts:
            for node in nodes[:count]:
                out[node.kind] += node.count
        return out


def title(counts: Mapping[str, int]) -> str:
    """`Placement: 4 ops, 2 copies, 76 folded`; counts: by the kind of row."""
    parts = []
    for kind, one, more in (("op", "op", "ops"), ("copy", "copy", "copies"), ("folded", "folded", "folded")):
        number = counts.get(kind, 0)
        if number:
            parts.append(f"{number:,} {one if number == 1 else more}")
    return "Placement: " + ", ".join(parts) if parts else "Placement"
