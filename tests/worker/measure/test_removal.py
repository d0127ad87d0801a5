"""Removing a layer from a graph: the remaining ops, their results, and the layer's share of the call in the
report.
"""

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Worker
from tuilab.model.arms import Arm
from tuilab.model.events import LayersKnown
from tuilab.model.ops import LOOPS
from tuilab.model.requests import Measure
from tuilab.model.scenario import BUDGET, Scenario
from tuilab.worker.measure import removal
from tuilab.worker.measure.layers import Layers
from tuilab.worker.measure.removal import _Border, removed, without
from tuilab.worker.models.keras_file import INFERENCE, layers_by_name

STEPS, WIDTH, WIDE = 6, 4, 5


def stack(tf: Any) -> Any:
    layers = tf.keras.layers
    parts = [layers.Dense(WIDTH, name="before"), layers.LSTM(WIDE, return_sequences=True, name="first")]
    parts += [layers.GRU(WIDTH, name="second"), layers.Dense(2, name="after")]
    return tf.keras.Sequential([tf.keras.Input((STEPS, WIDTH)), *parts])


def ops_of(graph: Any, tree: Any, layer: str) -> set[str]:
    whose = Layers(tree, [])
    return {op.name for op in graph.get_operations() if whose.of(op.name, op.type)[0] == layer}


def given(tf: Any) -> Any:
    return tf.random.stateless_normal((3, STEPS, WIDTH), (1, 2))


def traced(tf: Any, model: Any, x: Any) -> Any:
    return tf.function(lambda x: model(x)).get_concrete_function(x)


def test_a_removed_layer_takes_its_loop_with_it_and_what_follows_waits_for_what_precedes(tf: Any) -> None:
    model = stack(tf)
    graph = traced(tf, model, given(tf)).graph
    mine = ops_of(graph, layers_by_name(model), "first")
    border = _Border.of(graph, mine)
    short = without(graph.as_graph_def(), border)
    loops = [node.name for node in short.node if node.op in LOOPS]
    assert len(loops) == 1 and "second" in loops[0]
    (stand,) = [node for node in short.node if node.op == "IdentityN"]
    waits = [name[1:] for name in stand.input if name.startswith("^")]
    assert waits and all("before" in name for name in waits)
    gone = set(border.within) - {stand.name}
    assert gone and not [n for node in short.node for n in node.input if n.strip("^").split(":")[0] in gone]


def test_the_rest_computes_as_before_from_the_results_it_is_fed(tf: Any) -> None:
    model, x = stack(tf), given(tf)
    concrete = traced(tf, model, x)
    run = removed(tf, concrete, ops_of(concrete.graph, layers_by_name(model), "first"), (x,))
    assert run is not None
    expected = model(x).numpy()
    np.testing.assert_allclose(run((x,))[0], expected, rtol=1e-5)
    model.get_layer("first").set_weights([np.zeros_like(w) for w in model.get_layer("first").get_weights()])
    np.testing.assert_allclose(run((x,))[0], expected, rtol=1e-5)
    model.get_layer("after").set_weights([np.zeros_like(w) for w in model.get_layer("after").get_weights()])
    assert not run((x,))[0].numpy().any()


def test_a_layer_can_be_removed_from_a_training_step(tf: Any) -> None:
    model, x, y = stack(tf), given(tf), tf.ones((3, 2))
    model.compile("sgd", "mse")
    model.optimizer.build(model.trainable_variables)
    concrete = tf.function(lambda x, y: model.train_step((x, y))).get_concrete_function(x, y)
    run = removed(tf, concrete, ops_of(concrete.graph, layers_by_name(model), "first"), (x, y))
    assert run is not None
    before = model.get_layer("after").get_weights()[0]
    run((x, y))
    assert np.abs(model.get_layer("after").get_weights()[0] - before).max() > 0


def test_a_layer_that_is_used_twice_is_removed_twice(tf: Any) -> None:
    layers = tf.keras.layers
    shared = layers.GRU(WIDTH, return_sequences=True, name="shared")
    start = tf.keras.Input((STEPS, WIDTH))
    model = tf.keras.Model(start, shared(layers.Dense(WIDTH, name="between")(shared(start))))
    x = given(tf)
    concrete = traced(tf, model, x)
    mine = ops_of(concrete.graph, layers_by_name(model), "shared")
    short = without(concrete.graph.as_graph_def(), _Border.of(concrete.graph, mine))
    assert not [node for node in short.node if node.op in LOOPS]
    run = removed(tf, concrete, mine, (x,))
    assert run is not None
    np.testing.assert_allclose(run((x,))[0], model(x).numpy(), rtol=1e-5)


def test_a_layer_that_keeps_the_shape_passes_its_input_on(tf: Any) -> None:
    layers, x = tf.keras.layers, given(tf)
    middle = layers.LSTM(WIDTH, return_sequences=True, name="middle")
    ends = [layers.GRU(WIDTH, return_sequences=True, name=name) for name in ("start", "end")]
    model = tf.keras.Sequential([tf.keras.Input((STEPS, WIDTH)), ends[0], middle, ends[1]])
    concrete = traced(tf, model, x)
    run = removed(tf, concrete, ops_of(concrete.graph, layers_by_name(model), "middle"), (x,))
    assert run is not None
    np.testing.assert_allclose(run((x,))[0], ends[1](ends[0](x)).numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("layer", "most"), [("before", removal.MOST_BYTES), ("first", 8)])
def test_a_layer_without_a_loop_or_with_large_results_stays(
    tf: Any, monkeypatch: pytest.MonkeyPatch, layer: str, most: int
) -> None:
    monkeypatch.setattr(removal, "MOST_BYTES", most)
    model, x = stack(tf), given(tf)
    concrete = traced(tf, model, x)
    assert removed(tf, concrete, ops_of(concrete.graph, layers_by_name(model), layer), (x,)) is None


@pytest.mark.real_worker
def test_the_report_has_the_measured_share_of_a_layer_with_a_loop(
    tf: Any, worker: Worker, tmp_path: Path
) -> None:
    stack(tf).save(tmp_path / "model.keras")
    scenario = Scenario("model", {"batch": 2}, str(tmp_path / "model.keras"))
    arm = Arm("CPU:0", "graph", "resident", "float32", INFERENCE)
    request = Measure(
        id=uuid.uuid4().hex,
        scenario=scenario,
        arms=(arm,),
        budget=BUDGET["quick"],
        latency=False,
        phases=True,
    )
    (known,) = [event for event in worker.measure(request) if isinstance(event, LayersKnown)]
    saved = {layer.name: layer.saved for layer in known.layers}
    assert saved["before"] is None and saved["after"] is None
    assert any(saved[name] for name in ("first", "second"))
    for share in filter(None, saved.values()):
        assert share[1] <= share[0] <= share[2] < 1
