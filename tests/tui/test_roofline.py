import re
from pathlib import Path

import pytest
from textual.widgets import Static

from tests.tui.lab import TestLab, lab, opened, press, text
from tests.tui.picture import picture
from tests.tui.scripted import CPU_MACHINE
from tests.tui.test_pictures import shows  # noqa: F401
from tuilab.analysis.reading import value_at
from tuilab.model.events import RoofsKnown, WorkKnown
from tuilab.model.roofline import DeviceRoofs, MemoryRoof, Roofs, Work
from tuilab.tui.widgets.plot import Plot
from tuilab.workloads.stft import work

ROOFS = Roofs(
    machine=CPU_MACHINE.key,
    at="2026-01-05T10:00:00Z",
    seconds=3.0,
    sync_s=1e-5,
    devices={
        "CPU:0": DeviceRoofs(
            memory=(MemoryRoof(65_536, 90e9), MemoryRoof(1_048_576, 120e9), MemoryRoof(400_000_000, 22e9)),
            triad=21e9,
            peaks={"float32": 160e9, "float64": 80e9, "bfloat16": 300e9},
            launch_s={"eager": 6e-6, "graph": 1.5e-4, "xla": 1.2e-4},
            copied_s={"eager": 9e-6, "graph": 1.6e-4, "xla": 1.3e-4},
        )
    },
)


def report_run(app: TestLab) -> None:
    """Apply a real worker's reports on work and roofs to the current run."""
    state = app.lab.state.shown
    for arm in state.arms.values():
        for point in state.points:
            values = {**state.scenario.parameters, **point.values}
            values |= {"samples": value_at(state, point, "samples")}
            found = work(values, arm.arm)
            app.runner._on_event(WorkKnown(run=state.run, arm=arm.arm.id, point=point.index, work=found))
    app.runner._on_event(RoofsKnown(run=state.run, roofs=ROOFS))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))


async def test_the_view(tmp_path: Path, shows):  # noqa: F811
    app = lab(tmp_path, rounds=24, machine=CPU_MACHINE)
    async with opened(app, (80, 24), each=True) as pilot:
        await press(pilot, app, "r w")
        assert "is unknown" in picture(app)
        report_run(app)
        await press(pilot, app, "w")
        assert picture(app) == shows(name="run")
        await press(pilot, app, "s")
        report_run(app)
        await press(pilot, app, "w")
        assert picture(app) == shows(name="sweep")
        await press(pilot, app, "3")
        assert picture(app) == shows(name="at-best")


async def test_every_roof_in_the_legend_is_drawn_and_the_axis_has_its_unit(tmp_path: Path):
    app = lab(tmp_path, rounds=24, machine=CPU_MACHINE)
    async with opened(app, (120, 40), each=True) as pilot:
        await press(pilot, app, "r w")
        state = app.lab.state.shown
        for arm in state.arms.values():
            found = Work(flop=1e6, inputs=1e5, outputs=1e5)
            app.runner._on_event(WorkKnown(run=state.run, arm=arm.arm.id, point=0, work=found))
        app.runner._on_event(RoofsKnown(run=state.run, roofs=ROOFS))
        await press(pilot, app, "w")
        lines = text(app).splitlines()
        assert "FLOP per second" in "".join(lines), "the y axis"
        assert "memory 22.0 GB/s" in text(app) and "float32 160 GFLOP/s" in text(app)
        assert "cache (" not in text(app)
        chart = app.screen.views.view.query_one(Plot).chart
        roofs = [series for series in chart.series if series.style == "line"]
        assert all(series.x[0] < series.x[1] for series in roofs) and len(roofs) == 2


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_shortened_answer_still_says_what_a_gpu_could_give(tmp_path: Path, size):
    gpu = "H100: likely"
    app = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(app, size, each=True) as pilot:
        await press(pilot, app, "s")
        assert gpu not in text(app), "the GPU is not shown before the run"
        report_run(app)
        await press(pilot, app, "w")
        assert re.search(rf"{gpu} [0-9.,]+–[0-9.,]+×  A: more", text(app))
        await press(pilot, app, "A")
        whole = str(app.screen.query_one(Static).content)
        assert gpu not in whole and "An H100 would likely be" in whole
