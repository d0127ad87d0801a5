"""What the placement pass observes, against the partitioned graph and against what is known of each scene."""

from typing import Any

import msgspec
import pytest

from tests.analysis.made_runs import begun, placed
from tests.worker.placement.scenes import BYTES
from tuilab.analysis.operations import computes
from tuilab.analysis.verdicts import placed_on
from tuilab.model.arms import Arm
from tuilab.model.claims import PlacedOn
from tuilab.model.events import Node

pytestmark = pytest.mark.real_worker

Scene = dict[str, Any]


def rows(scene: Scene, kind: str = "op") -> list[dict[str, Any]]:
    return [node for node in scene["nodes"] if node["kind"] == kind]


def by_op(scene: Scene, op: str) -> dict[str, Any]:
    [node] = [node for node in rows(scene) if node["op"] == op]
    return node


def test_split_shows_exactly_the_sends_and_receives_of_the_partitions(scenes: Scene) -> None:
    scene = scenes["split"]
    copies = rows(scene, "copy")
    observed = sorted([c["device"], c["to"], *c["name"].split(" → ")] for c in copies)
    assert observed == sorted(scene["sends"]) == sorted(scene["receives"])
    assert len(observed) == 3
    assert {c["bytes"] for c in copies} == {BYTES}
    assert (scene["copies"], scene["copied"]) == (3, 3 * BYTES)
    assert {c["op"] for c in copies} == {"_Send/_Recv"}


def test_split_shows_each_op_where_it_was_asked_to_run(scenes: Scene) -> None:
    for node in rows(scenes["split"]):
        assert node["device"] == node["requested"]
    assert by_op(scenes["split"], "MatMul")["device"] == "CPU:1"


def test_what_one_op_made_of_several_is_asked_about_as_written(scenes: Scene) -> None:
    fused = [n for n in rows(scenes["split"]) if n["op"] == "_UnaryOpsComposition"]
    assert all(n["gpu"] for n in fused)


@pytest.mark.parametrize(("scene", "op"), [("dense", "MatMul"), ("convolved", "Conv2D")])
def test_a_fused_op_is_still_the_op_that_does_the_work(scenes: Scene, scene: str, op: str) -> None:
    """In the log it stands as the optimiser made it; what a document says of the op holds for it."""
    nodes = [msgspec.convert(node, Node) for node in scenes["fused"][scene]["nodes"]]
    [made] = [node for node in nodes if node.kind == "op" and computes(node.op) == op]
    assert made.op == f"_Fused{op}"
    assert made.gpu is not None
    arm = Arm("CPU:0", "graph")
    state = placed(begun([arm], gpu=False), arm, *nodes)
    found, evidence = placed_on(PlacedOn(op=op, device="CPU"), state)
    assert found == "confirmed"
    assert evidence == f"Of 1 {op} op observed (fused, as _Fused{op}), 1 on CPU:0."


def test_variable_keeps_its_ops_on_its_device(scenes: Scene) -> None:
    scene = scenes["variable"]
    read = by_op(scene, "ReadVariableOp")
    assert (read["requested"], read["device"]) == ("CPU:1", "CPU:0")
    assert "variable or resource is on CPU:0" in read["reason"]
    [copy] = rows(scene, "copy")
    assert (copy["device"], copy["to"], copy["bytes"], copy["count"]) == ("CPU:0", "CPU:1", BYTES, 1)
    assert scene["device"] == "CPU:1"


def test_eager_copy_is_a_row_with_its_bytes(scenes: Scene) -> None:
    [copy] = rows(scenes["eager_copies"], "copy")
    assert (copy["device"], copy["to"], copy["bytes"], copy["count"]) == ("CPU:0", "CPU:1", BYTES, 1)
    assert "MatMul" in copy["name"]


def test_standing_copy_of_a_resident_tensor_is_not_counted(scenes: Scene) -> None:
    assert rows(scenes["eager_resident"], "copy") == []
    assert by_op(scenes["eager_resident"], "MatMul")["device"] == "CPU:1"


def test_copy_for_an_xla_program_is_a_row(scenes: Scene) -> None:
    [copy] = rows(scenes["xla_copies"], "copy")
    assert (copy["device"], copy["to"], copy["bytes"]) == ("CPU:0", "CPU:1", BYTES)
    assert by_op(scenes["xla_copies"], "XLA program")["device"] == "CPU:1"


def test_copy_without_an_op_is_seen(scenes: Scene) -> None:
    [copy] = rows(scenes["asked_copy"], "copy")
    assert (copy["device"], copy["to"], copy["bytes"]) == ("CPU:0", "CPU:1", BYTES)
    assert scenes["asked_copy"]["device"] is None


def test_composite_op_is_seen_op_by_op(scenes: Scene) -> None:
    eager = scenes["composite"]["eager"]
    names = {node["op"] for node in rows(eager)}
    assert {"RFFT", "GatherV2", "Cos", "Reshape", "Mul"} <= names
    assert eager["ops"] == sum(node["count"] for node in rows(eager)) >= 40
    assert eager["folded"] == 0


def test_graph_tells_what_remains_and_what_was_folded(scenes: Scene) -> None:
    graph, eager = scenes["composite"]["graph"], scenes["composite"]["eager"]
    assert [node["op"] for node in rows(graph)].count("RFFT") == 1
    assert graph["ops"] <= 6 < eager["ops"]
    folded = rows(graph, "folded")
    assert graph["folded"] == len(folded) >= 30
    cosine = next(node for node in folded if node["op"] == "Cos")
    assert cosine["reason"] == "computed once, when the graph was optimised"
    assert not {node["name"] for node in folded} & {node["name"] for node in rows(graph)}


def test_xla_program_is_one_node_with_its_operations(scenes: Scene) -> None:
    xla = scenes["composite"]["xla"]
    [program] = [node for node in rows(xla) if node["op"] == "XLA program"]
    assert program["name"] == "stft" and program["device"] == "CPU:0"
    operations = [node for node in rows(xla) if node["op"].startswith("hlo ")]
    assert "hlo fft" in [node["op"] for node in operations]
    assert any("from RFFT" in node["reason"] for node in operations)
    assert xla["ops"] == 1


def test_call_of_ones_own_shows_functions_and_eager_ops(scenes: Scene) -> None:
    scene = scenes["nested"]
    ops = [node["op"] for node in rows(scene)]
    assert ops.count("XLA program") == 2  # forward and backward
    assert {"AddV2", "Sum", "Tile"} <= set(ops)
    assert "Sin" not in [node["op"] for node in scene["nodes"]]


def test_equal_calls_are_counted(scenes: Scene) -> None:
    assert by_op(scenes["repeated"], "Exp")["count"] == 3


def test_mapped_function_runs_on_the_host(scenes: Scene) -> None:
    scene = scenes["pipeline"]
    root = by_op(scene, "Sqrt")
    assert root["device"] == "CPU:0"
    assert "the input pipeline runs on the host" in root["reason"]
    assert root["gpu"] is False
    assert by_op(scene, "Exp")["device"] == "CPU:1"  # a scope inside the function is obeyed
    assert by_op(scene, "IteratorGetNext")["count"] == 1
    assert scene["ops"] == 1


def test_mapped_function_of_a_data_set_made_in_the_call(scenes: Scene) -> None:
    invert = by_op(scenes["made_in_call"], "Invert")
    assert "input pipeline" in invert["reason"]


def test_nothing_of_tensorflow_gives_no_device(scenes: Scene) -> None:
    scene = scenes["python_only"]
    assert scene["device"] is None and scene["nodes"] == [] and scene["ops"] == 0


def test_watching_leaves_nothing_behind(scenes: Scene) -> None:
    assert all(scenes["undisturbed"]["same"])
    assert scenes["undisturbed"]["raised"] == "InvalidArgumentError"


def test_observing_twice_tells_the_same(scenes: Scene) -> None:
    assert scenes["repeatable"]["first"] == scenes["repeatable"]["second"]
    assert scenes["repeatable"]["first"]["copies"] == 3


def test_every_reason_names_its_evidence(scenes: Scene) -> None:
    for name in ("split", "variable", "eager_copies", "pipeline"):
        for node in rows(scenes[name]):
            assert node["reason"] and node["evidence"], node


def test_forecast_covers_every_op_that_runs(scenes: Scene) -> None:
    for name in ("split", "variable", "pipeline"):
        scene = scenes[name]
        counted = sum(row["count"] for row in scene["forecast"])
        assert counted == sum(node["count"] for node in rows(scene))
        for row in scene["forecast"]:
            assert {n["gpu"] for n in rows(scene) if n["op"] == row["op"]} == {row["gpu"]}
