import re

import pytest
from msgspec.structs import replace

from tests import made
from tuilab.analysis.account import unknown
from tuilab.analysis.layers import OUTSIDE, layers_at, outside
from tuilab.analysis.summary import summarise
from tuilab.model import events as e
from tuilab.model.models import LayerWork, ModelInfo
from tuilab.model.roofline import DeviceRoofs, MemoryRoof, Roofs, Work
from tuilab.report.rows import layer_row
from tuilab.report.text import table

SLOW = made.XLA
ROOFS = Roofs(
    machine=made.MACHINE.key,
    at="2026-01-05T10:00:00Z",
    seconds=1.0,
    sync_s=1e-6,
    devices={
        "CPU:0": DeviceRoofs(memory=(MemoryRoof(0, 1e9),), peaks={"float32": 100e9}, launch_s={"graph": 0.0})
    },
)
LAYERS = (
    LayerWork(name="conv", kind="Conv2D", computing=0.5, work=Work(flop=20e6, inputs=1e3, outputs=1e3)),
    LayerWork(name="add", kind="Add", computing=0.25, work=Work(flop=1e3, inputs=50e3, outputs=50e3)),
    LayerWork(name="sort", kind="Sort", computing=0.15, work=Work(flop=None, inputs=10.0, outputs=10.0)),
)


def run(**parts):
    model = ModelInfo(kind="keras", parameters=7, inputs=(), batch="")
    return made.folded(
        made.started("r1", made.GRAPH, SLOW),
        e.ModelOpened(run="r1", model=model),
        *made.rounds("r1", 9, made.GRAPH, SLOW),
        e.Accounted(run="r1", arm=made.GRAPH.id, point=0, account=made.account(**parts)),
        e.LayersKnown(run="r1", arm=made.GRAPH.id, point=0, layers=LAYERS),
        e.RoofsKnown(run="r1", roofs=ROOFS),
    )


def test_layer_shares_are_of_the_account_and_the_rest_is_outside():
    state = run(compute=0.8e-3, dispatch=0.2e-3)
    layers = layers_at(state, state.arms[made.GRAPH.id], 0)
    assert [layer.share for layer in layers] == pytest.approx([0.4, 0.2, 0.12])
    assert outside(layers).share == pytest.approx(1 - 0.72)
    assert outside(layers).name == OUTSIDE


def test_each_layer_is_compared_with_its_nearer_roof():
    state = run(compute=0.8e-3, dispatch=0.2e-3)
    conv, add, sort = layers_at(state, state.arms[made.GRAPH.id], 0)
    assert (conv.bound_by, add.bound_by, sort.bound_by) == ("arithmetic", "memory", "compute")
    assert conv.of_roof == pytest.approx(20e6 / 100e9 / 0.4e-3)
    assert add.of_roof == pytest.approx(100e3 / 1e9 / 0.2e-3)
    assert sort.flop is None


def test_operations_of_a_layer_that_are_not_all_counted_are_a_lower_bound():
    state = run(compute=0.8e-3, dispatch=0.2e-3)
    part = replace(LAYERS[0], work=replace(LAYERS[0].work, uncounted=("MatMul",)))
    state.apply(e.LayersKnown(run="r1", arm=made.GRAPH.id, point=0, layers=(part, *LAYERS[1:])))
    conv, add, _ = layers_at(state, state.arms[made.GRAPH.id], 0)
    assert layer_row(conv)[3] == "≥ 20.0 MFLOP" and layer_row(conv)[5].startswith("≥ ")
    assert "≥" not in "".join(layer_row(add))


def test_a_result_has_the_layers_of_a_profiled_arm_and_the_report_adds_up():
    result = summarise(run(compute=0.8e-3, dispatch=0.2e-3))
    assert result.model.layers_of == made.GRAPH.id
    assert [(layer.name, layer.kind) for layer in result.model.layers] == [
        ("conv", "Conv2D"),
        ("add", "Add"),
        ("sort", "Sort"),
    ]
    text = table(result)
    assert "Layers in a call of CPU graph:" in text
    assert "outside layers" in text and "28%" in text
    assert "28% of the call belongs to no layer, so a layer's share may be too low." in text
    whole = replace(LAYERS[0], computing=0.8)
    state = run(compute=1e-3)
    state.apply(e.LayersKnown(run="r1", arm=made.GRAPH.id, point=0, layers=(whole, *LAYERS[2:])))
    assert not summarise(state).model.layers_note


def test_if_profiled_calls_took_a_different_time_the_layers_say_so():
    result = summarise(run(compute=4e-3, dispatch=1e-3))
    assert list(result.arms[0].phases_s) == ["not_known"]
    assert [layer.share for layer in result.model.layers] == pytest.approx([0.4, 0.2, 0.12])
    assert result.model.layers_note == (
        "The layer times come from profiled calls of 5.00 ms each; in the rounds a call took 1.00 ms."
    )
    assert result.model.layers_note in table(result)


@pytest.mark.parametrize(
    ("saved", "shown", "share"),
    [
        ((0.5, 0.42, 0.61), "50%", 0.5),
        ((0.5, 0.35, 0.61), "35–61%", 0.5),
        ((-0.02, -0.05, 0.01), "0%", 0.0),
        (None, "20–60%", 0.4),
    ],
    ids=["measured", "too wide", "saves nothing", "not measured"],
)
def test_a_layer_with_a_loop_has_a_figure_only_within_ten_points(saved, shown, share):
    account = made.account(compute=0.4e-3, dispatch=0.6e-3)
    loop = LayerWork(name="lstm", kind="LSTM", computing=0.5, work=Work(flop=1e3), looping=2 / 3, saved=saved)
    state = made.folded(
        made.started("r1", made.GRAPH),
        e.ModelOpened(run="r1", model=ModelInfo(kind="keras", parameters=7, inputs=())),
        *made.rounds("r1", 9, made.GRAPH),
        e.Accounted(run="r1", arm=made.GRAPH.id, point=0, account=account),
        e.LayersKnown(run="r1", arm=made.GRAPH.id, point=0, layers=(loop,)),
    )
    (layer,) = summarise(state).model.layers
    assert layer.share == pytest.approx(share) and layer_row(layer)[2] == shown


@pytest.mark.parametrize(
    ("mode", "account", "said"),
    [
        (made.GRAPH, unknown(1e-3, "a call of 40 s is too long"), "No layers: a call of 40 s is too long; reduce batch."),
        (made.GRAPH, made.account(compute=1e-3), "No layers: the graph's work could not be counted."),
        (made.GRAPH, made.account(dispatch=1e-3), "No layers: the arm's ops are too short for the profiler; increase batch"),
        (SLOW, made.account(compute=1e-3), "No graph arm was measured"),
        (made.GRAPH, None, ""),
    ],
    ids=["not profiled", "not counted", "too short", "no graph", "not looked for"],
)  # fmt: skip
def test_missing_layers_are_explained(mode, account, said):
    known = [e.LayersKnown(run="r1", arm=mode.id, point=0, layers=LAYERS)] if "too short" in said else []
    state = made.folded(
        made.started("r1", mode),
        e.ModelOpened(run="r1", model=ModelInfo(kind="keras", parameters=7, inputs=(), batch="batch")),
        *made.rounds("r1", 9, mode),
        *([e.Accounted(run="r1", arm=mode.id, point=0, account=account)] if account else []),
        *known,
    )
    result = summarise(state)
    assert result.model.layers == () and result.model.layers_note.startswith(said)
    assert bool(result.model.layers_note) == bool(said) and result.model.layers_note in table(result)


def test_without_an_account_no_layer_has_a_share():
    state = made.folded(
        made.started("r1", made.GRAPH),
        e.ModelOpened(run="r1", model=ModelInfo(kind="keras", parameters=7, inputs=())),
        *made.rounds("r1", 3),
        e.LayersKnown(run="r1", arm=made.GRAPH.id, point=0, layers=LAYERS),
    )
    assert layers_at(state, state.arms[made.GRAPH.id], 0) == ()


def test_the_short_table_of_layers_gives_share_and_bottleneck():
    lines = table(summarise(run(compute=0.8e-3, dispatch=0.2e-3)), details=False).splitlines()
    found = [re.split("  +", line.strip()) for line in lines if line.startswith(("layer ", "conv ", "add "))]
    assert found == [
        ["layer", "of the call", "FLOP", "of the roof", "bound by"],
        ["conv", "40%", "20.0 MFLOP", "50%", "arithmetic"],
        ["add", "20%", "1.00 kFLOP", "50%", "memory"],
    ]


def test_a_layer_faster_than_its_roof_gives_no_share_of_it():
    state = run(compute=0.08e-3, dispatch=0.92e-3)
    conv, add, _ = layers_at(state, state.arms[made.GRAPH.id], 0)
    assert (conv.of_roof, add.of_roof is None) == (None, True)
