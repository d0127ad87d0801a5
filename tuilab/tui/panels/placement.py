"""Where the ops of the run went: a row each, groups of rows, and a summary under the controls."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import overload

from textual.content import Content
from textual.widgets import Static

from tuilab.lab.state import LabState
from tuilab.model.events import XLA_PROGRAM, ops_of
from tuilab.model.result import PlacementRow, placement_row
from tuilab.model.run import RunState

MOST_LINES = 12


@dataclass(frozen=True)
class Group:
    """Rows that went to the same place for the same reason."""

    kind: str
    """`op`, `copy` or `folded`."""
    device: str
    """Where they ran; for copies, from where to where."""
    reason: str
    """Why there; empty where it is what was asked for."""
    count: int
    """How many, folded ones included."""
    ops: tuple[str, ...] = ()
    """The ops among them, the most frequent first."""

    def __str__(self) -> str:
        """`4,002 ops on CPU:0: no GPU is visible`."""
        program = self.ops == (XLA_PROGRAM,)
        one, more, joint = (XLA_PROGRAM, f"{XLA_PROGRAM}s", "on") if program else KINDS[self.kind]
        said = f"{self.count:,} {one if self.count == 1 else more} {joint} {self.device}"
        return said + (f": {self.reason}" if self.reason else "")


KINDS = {"op": ("op", "ops", "on"), "copy": ("copy", "copies", "from"), "folded": ("op", "ops", "folded on")}


def groups(state: RunState) -> list[Group]:
    """The rows of a run by kind, device and reason, the largest group first, folded ones last."""
    # By what a node says of itself, then by group: of 100,000 nodes only some tens differ.
    alike: Counter[tuple[str, str, str, str, str]] = Counter()
    for arm in state.arms.values():
        for node in chain.from_iterable(arm.placement.values()):
            alike[node.kind, node.device, node.to, node.reason, node.op] += node.count
    counts: Counter[tuple[str, str, str]] = Counter()
    ops: dict[tuple[str, str, str], Counter[str]] = {}
    for (kind, device, to, reason, op), count in alike.items():
        key = (kind, _where(kind, device, to), reason)
        counts[key] += count
        ops.setdefault(key, Counter())[op] += count
    found = [
        Group(*key, number, tuple(op for op, _ in ops[key].most_common())) for key, number in counts.items()
    ]
    return sorted(found, key=lambda group: (group.kind == "folded", -group.count))


def group_of(row: PlacementRow) -> tuple[str, str, str]:
    """Kind, device and reason of a row."""
    return row.kind, _where(row.kind, row.device, row.to), row.reason


def _where(kind: str, device: str, to: str) -> str:
    return (f"{device} to {to}" if kind == "copy" else device) or "no device yet"


class PlacementLog(Static):
    """The summary: a line a group, the largest first; the Placement view opens each."""

    HELP = """\
## Placement

How many ops ran on which device, and why. The Placement view (**6**, or a click) lists every op, with a
filter.
"""

    def __init__(self) -> None:
        super().__init__("Placement: no op has been placed yet.", markup=False)
        self._drawn: object = None

    def draw(self, lab_state: LabState) -> None:
        """Show the groups, where there are others than before."""
        state = lab_state.shown
        key = (state.run, sum(len(nodes) for arm in state.arms.values() for nodes in arm.placement.values()))
        if key == self._drawn:
            return
        self._drawn = key
        found = groups(state)
        head = title(PlacementRows(state).counts())
        lines = [Content.assemble((head, "bold"), ". ", "; ".join(map(str, found[:2])) if found else "")]
        self.update(Content("\n").join([*lines, *(Content(str(g)) for g in found[2:MOST_LINES])]))

    async def on_click(self) -> None:
        """Open the view."""
        await self.screen.run_action("view('placement')")


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
                if node.kind != "op":
                    out[node.kind] += node.count
            out["op"] += sum(node.count for node in ops_of(nodes[:count]))
        return out


def title(counts: Mapping[str, int]) -> str:
    """`Placement: 4 ops, 2 copies, 76 folded`; counts: by the kind of row."""
    parts = []
    for kind, one, more in (("op", "op", "ops"), ("copy", "copy", "copies"), ("folded", "folded", "folded")):
        number = counts.get(kind, 0)
        if number:
            parts.append(f"{number:,} {one if number == 1 else more}")
    return "Placement: " + ", ".join(parts) if parts else "Placement"
