"""The rows of a run's placement, made when they are looked at, are those that a list of them would have."""

from tests.tui.data import ARMS, run_state
from tuilab.model.events import Node, Placement
from tuilab.model.result import placement_row
from tuilab.tui.panels.placement import PlacementRows, title

KINDS = ("op", "copy", "folded")


def placed() -> list[Node]:
    return [Node(f"n{i}", "Mul", "CPU:0", kind=KINDS[i % 3], count=1 + i % 2) for i in range(7)]


def test_the_rows_of_several_arms_and_points():
    state = run_state(1)
    wanted = []
    for arm, point, nodes in ((ARMS[0].id, 0, placed()), (ARMS[4].id, 0, placed()[:1]), (ARMS[4].id, 3, [])):
        state.apply(Placement(run="r1", arm=arm, point=point, nodes=tuple(nodes)))
        wanted += [placement_row(arm, node) for node in nodes]
    rows = PlacementRows(state)
    assert list(rows) == wanted and len(rows) == 8
    assert (rows[-1], rows[2:6], rows[::3]) == (wanted[-1], wanted[2:6], wanted[::3])
    counted = {kind: sum(row.count for row in wanted if row.kind == kind) for kind in KINDS}
    assert rows.counts() == counted


def test_rows_that_come_later_are_not_yet_in():
    state = run_state(1)
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=tuple(placed())))
    rows = PlacementRows(state)
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=tuple(placed())))
    assert len(list(rows)) == 7 and sum(rows.counts().values()) == sum(node.count for node in placed())


def test_no_rows():
    assert list(PlacementRows(run_state(1))) == []


def test_the_title_counts_in_words():
    assert title({}) == "Placement"
    assert title({"op": 1, "copy": 2, "folded": 76}) == "Placement: 1 op, 2 copies, 76 folded"
    assert title({"op": 4_000, "copy": 1}) == "Placement: 4,000 ops, 1 copy"
