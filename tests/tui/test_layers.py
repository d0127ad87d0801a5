from pathlib import Path

from textual.widgets import OptionList

from tests.tui.lab import lab, opened, press, rest, text
from tests.tui.picture import picture
from tests.tui.scripted import CPU_MACHINE
from tests.tui.test_pictures import shows  # noqa: F401
from tests.tui.test_roofline import ROOFS
from tuilab.model.events import LayersKnown, ModelOpened, Node, Placement, RoofsKnown
from tuilab.model.models import LayerWork, ModelInfo
from tuilab.model.roofline import Work
from tuilab.tui.views.phases import LayerTable
from tuilab.tui.views.placement import PlacementTable
from tuilab.tui.widgets.phases import Phases

LAYERS = [
    ("encoder/attention", "MultiHeadAttention", 0.5, 2e6, 3e5),
    ("encoder/[norm]", "LayerNormalization", 0.3, 3e3, 2e5),
    ("head", "Dense", 0.1, 9e5, 4e4),
]


def report_layers(app, mode: str, first: str = "") -> None:
    """Apply the reports that a real worker sends about a model's arm."""
    state = app.lab.state.shown
    arm = next(each for each in state.arms.values() if each.arm.mode == mode)
    layers = tuple(
        LayerWork(
            name=first + name, kind=kind, computing=share, work=Work(flop=flop, inputs=moved, outputs=0.0)
        )
        for name, kind, share, flop, moved in LAYERS
    )
    app.runner._on_event(ModelOpened(run=state.run, model=ModelInfo(kind="keras", parameters=1, inputs=())))
    app.runner._on_event(LayersKnown(run=state.run, arm=arm.arm.id, point=0, layers=layers))
    app.runner._on_event(RoofsKnown(run=state.run, roofs=ROOFS))


async def test_the_layers_stand_under_the_phases(tmp_path: Path, shows):  # noqa: F811
    app = lab(tmp_path, rounds=24, machine=CPU_MACHINE)
    async with opened(app, (100, 30), each=True) as pilot:
        await press(pilot, app, "r 4")
        table = app.screen.query_one(LayerTable)
        assert not table.display, "other workloads have no layers"
        report_layers(app, "graph")
        await rest(pilot, app)
        assert table.display and picture(app) == shows(name="layers")
        assert [layer.name for layer in table.rows] == [*(name for name, *_ in LAYERS), "outside layers"]
        assert sum(layer.share for layer in table.rows) == 1.0
        table.focus()
        await press(pilot, app, "O O O O")
        assert table.rows[0].name == "encoder/attention" and table.row.name == "outside layers"


async def test_a_small_screen_shows_most_arms_and_the_cursor_brings_in_the_rest(tmp_path: Path):
    app = lab(tmp_path, rounds=24)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "r 4")
        report_layers(app, "graph")
        await rest(pilot, app)
        labels = [arm.label for arm in app.lab.state.shown.arms.values()]
        app.screen.query_one(Phases).focus()
        await rest(pilot, app)

        def rows() -> set[str]:
            view = text(app).partition("Live Compare")[2].partition("Controls")[0]
            return {label for label in labels if f" {label} " in view}

        seen = rows()
        assert len(labels) == 9 and len(seen) >= 6 and f"rows 1–{len(seen)} of 9" in text(app), seen
        await press(pilot, app, ["down"] * (len(labels) - 1))
        assert rows() | seen == set(labels) and rows() != seen
        assert app.screen.query_one(LayerTable).size.height >= 3


async def test_a_model_without_layers_says_why(tmp_path: Path):
    app = lab(tmp_path, rounds=24, machine=CPU_MACHINE)
    async with opened(app, (100, 30)) as pilot:
        await press(pilot, app, "r 4")
        model = ModelInfo(kind="keras", parameters=1, inputs=())
        app.runner._on_event(ModelOpened(run=app.lab.state.shown.run, model=model))
        await rest(pilot, app)
        assert "No layers: the graph's work could not be counted." in picture(app)


async def test_the_layers_belong_to_the_arm_under_the_cursor(tmp_path: Path):
    app = lab(tmp_path, rounds=24, machine=CPU_MACHINE)
    async with opened(app, (100, 30)) as pilot:
        await press(pilot, app, "r 4")
        report_layers(app, "graph")
        report_layers(app, "eager", "eager/")
        await rest(pilot, app)
        table, seen = app.screen.query_one(LayerTable), set()
        app.screen.query_one(Phases).focus()
        for _ in app.lab.state.shown.arms:
            seen.add((table.of, table.rows[0].name))
            await press(pilot, app, "down")
        assert {("CPU eager", "eager/encoder/attention"), ("CPU graph", "encoder/attention")} <= seen


async def test_the_ops_of_a_layer_are_listed_with_their_devices(tmp_path: Path):
    app = lab(tmp_path, rounds=8, machine=CPU_MACHINE)
    async with opened(app, (100, 30)) as pilot:
        await press(pilot, app, "r 6")
        state = app.lab.state.shown
        listed, table = (
            app.screen.query_one("PlacementView OptionList", OptionList),
            app.screen.query_one(PlacementTable),
        )
        before = listed.option_count
        nodes = (
            Node("net/head/MatMul", "MatMul", "CPU:0", layer="head"),
            Node("net/[x]/Add", "Add", "CPU:0", layer="[x]"),
        )
        app.runner._on_event(Placement(run=state.run, arm=next(iter(state.arms)), nodes=nodes))
        await rest(pilot, app)
        assert listed.option_count >= before + 2
        assert "[x]: 1 op on CPU:0" in str(listed.get_option_at_index(listed.option_count - 1).prompt)
        listed.focus()
        await press(pilot, app, "end enter")
        assert [row.node for row in table.rows] == ["net/[x]/Add"]
