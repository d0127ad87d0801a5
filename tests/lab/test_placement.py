"""The placement rows of a run, which are created on access, equal a plain list of rows."""

from tests.tui.data import ARMS, run_state
from tuilab.model.events import Node, Placement
from tuilab.model.result import placement_row
from tuilab.presentation.placement import PlacementRows, groups, layers
from tuilab.report.sweep import lanes
from tuilab.worker.placement.rows import Row
from tuilab.worker.placement.summary import summarise

KINDS = ("op", "copy", "folded")


def placed() -> list[Node]:
    return [Node(f"n{i}", "Mul", "CPU:0", kind=KINDS[i % 3], count=1 + i % 2) for i in range(7)]


def test_placement_rows_of_several_arms_and_points_are_joined():
    state = run_state(1)
    wanted = []
    for arm, point, nodes in ((ARMS[0].id, 0, placed()), (ARMS[4].id, 0, placed()[:1]), (ARMS[4].id, 3, [])):
        state.apply(Placement(run="r1", arm=arm, point=point, nodes=tuple(nodes)))
        wanted += [placement_row(arm, node) for node in nodes]
    assert list(PlacementRows(run_state(1))) == []
    rows = PlacementRows(state)
    # rows that are applied after the creation of `rows` are not included
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=tuple(placed())))
    assert list(rows) == wanted and len(rows) == 8
    assert (rows[-1], rows[2:6], rows[::3]) == (wanted[-1], wanted[2:6], wanted[::3])
    counted = {kind: sum(row.count for row in wanted if row.kind == kind) for kind in KINDS}
    assert rows.counts() == counted


def test_a_copy_that_stays_in_host_memory_is_no_copy():
    """The GPU op reads its input in host memory, so no data crosses the link."""
    state, sent = (
        run_state(1),
        Node("a → b", "_HostSend/_HostRecv", "CPU:0", kind="copy", to="GPU:0", memory="CPU:0"),
    )
    crosses = Node("a → c", "_HostSend/_Recv", "CPU:0", kind="copy", to="GPU:0", bytes=8, count=2)
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=(sent, crosses)))
    assert str(PlacementRows(state)) == "Placement: 2 copies"
    assert lanes((sent, crosses)) == ["CPU:0 ─▶ GPU:0  2 copies, 8 B"]
    seen = summarise([Row(sent), Row(crosses)], "GPU:0")
    assert (seen.copies, seen.copied) == (2, 8)


def test_the_title_counts_in_words():
    state = run_state(1)
    assert str(PlacementRows(state)) == "Placement"
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=tuple(placed()[:2])))
    assert str(PlacementRows(state)) == "Placement: 1 op, 2 copies"
    folded = (Node("f", "Mul", "", kind="folded", count=76), Node("n", "Mul", "CPU:0", count=4_000))
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=folded))
    assert str(PlacementRows(state)) == "Placement: 4,001 ops, 2 copies, 76 folded"


def test_the_ops_of_several_arms_are_named_as_such():
    """A call of the eager arm runs 43 ops, as the answer says. The title counts the ops of two arms, 48, so
    it must name the number of arms.
    """
    state = run_state(1)
    for arm, count in ((ARMS[0], 43), (ARMS[4], 5)):
        state.apply(Placement(run="r1", arm=arm.id, nodes=(Node("n", "Mul", "CPU:0", count=count),)))
    assert str(PlacementRows(state)) == "Placement of 2 arms: 48 ops"


def test_rows_are_grouped_by_device_and_reason_with_counts():
    state = run_state(1)
    lost = [Node(f"n{i}", "MatMul", "CPU:0", reason="no GPU is visible", count=2) for i in range(2_001)]
    more = (Node("m", "Mul", "GPU:0"), Node("c", "_Send", "CPU:0", kind="copy", to="GPU:0"))
    gone = Node("f", "Mul", "", kind="folded", reason="computed once", count=3)
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=(*lost, *more, gone)))
    assert [str(group) for group in groups(state)] == [
        "4,002 ops on CPU:0: no GPU is visible", "1 op on GPU:0", "1 copy from CPU:0 to GPU:0", "3 ops folded: computed once",
    ]  # fmt: skip
    assert groups(state)[0].ops == ("MatMul",)


def test_a_sweep_counts_the_ops_of_one_size_instead_of_all_sizes():
    state = run_state(1)
    nodes = (Node("m", "Mul", "CPU:0", count=40), Node("a", "Add", "CPU:0", layer="net", count=3))
    for point in range(6):
        state.apply(Placement(run="r1", arm=ARMS[0].id, point=point, nodes=nodes))
    state.apply(Placement(run="r1", arm=ARMS[4].id, point=5, nodes=(*nodes, Node("s", "Sort", "GPU:0"))))
    assert [str(group) for group in groups(state)] == ["86 ops on CPU:0", "1 op on GPU:0"]
    assert [str(layer) for layer in layers(state)] == ["net: 6 ops on CPU:0"]
    # The largest size has different ops, but not more of them.
    state.apply(Placement(run="r1", arm=ARMS[0].id, point=6, nodes=(Node("p", "Pack", "CPU:0", count=50),)))
    assert str(groups(state)[0]) == "86 ops on CPU:0"


def test_ops_that_ran_on_another_device_come_first():
    state = run_state(1)
    asked = [Node(f"n{i}", "Mul", "GPU:0", requested="GPU:0") for i in range(9)]
    here = Node("h", "Mul", "CPU:0", requested="CPU:0", reason="CPU:0 was requested", count=5)
    string = Node("s", "Split", "CPU:0", requested="GPU:0", reason="no GPU kernel for string")
    shape = Node(
        "r",
        "Range",
        "GPU:0",
        requested="GPU:0",
        memory="CPU:0",
        reason="works in host memory",
        count=2,
        gpu=False,
    )
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=(*asked, here, string, shape)))
    found = groups(state)
    assert [str(group) for group in found] == [
        "2 ops on GPU:0: works in host memory", "1 op on CPU:0: no GPU kernel for string", "9 ops on GPU:0",
        "5 ops on CPU:0: CPU:0 was requested",
    ]  # fmt: skip
    assert [group.elsewhere for group in found] == [True, True, False, False]


def test_the_rows_of_a_model_are_grouped_by_layer_in_the_order_of_its_graph():
    state = run_state(1)
    assert layers(state) == []
    nodes = (
        Node("net/conv/Conv2D", "Conv2D", "GPU:0", layer="conv"),
        Node("net/conv/BiasAdd", "BiasAdd", "GPU:0", layer="conv", count=3),
        Node("net/sort/TopKV2", "TopKV2", "CPU:0", layer="sort"),
        Node("net/sort/Const", "Const", "", kind="folded", layer="sort"),
        Node("net/conv/Cast", "Cast", "CPU:0", layer="conv"),
        Node("Identity", "Identity", "CPU:0"),
    )
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=nodes))
    conv, sort = layers(state)
    assert [str(conv), str(sort)] == ["conv: 4 ops on GPU:0, 1 op on CPU:0", "sort: 1 op on CPU:0"]
    assert conv.ops[0] == "BiasAdd"
    assert [row.node for row in PlacementRows(state) if sort.has(row)] == [
        "net/sort/TopKV2",
        "net/sort/Const",
    ]


def test_a_swept_placement_counts_the_ops_of_one_size():
    state = run_state(1)
    for point in range(6):
        state.apply(
            Placement(run="r1", arm=ARMS[0].id, point=point, nodes=(Node("n", "Mul", "CPU:0", count=43),))
        )
    assert str(PlacementRows(state)) == "Placement at each size: 43 ops"
