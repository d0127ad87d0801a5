"""The slider and the curve move together, and panels can be maximized."""

import msgspec
import pytest

from tests.tui.lab import lab, opened, press, rest, text, until
from tests.tui.scripted import CPU_MACHINE, Script
from tuilab.analysis.words import size
from tuilab.presentation.answer import answer
from tuilab.tui.actions import VIEWS
from tuilab.tui.panels.presets import Presets, PresetsPanel
from tuilab.tui.panels.views import Views
from tuilab.tui.screens.menu import MenuScreen
from tuilab.tui.widgets.plot import Plot
from tuilab.tui.widgets.slider import Slider


async def test_moving_along_the_curve_moves_slider_and_sentence_and_frame(tmp_path):
    app = lab(tmp_path, rerun=False)
    async with opened(app) as pilot:
        await press(pilot, app, "s")
        views = app.screen.query_one(Views)
        plot = views.view.query_one(Plot)
        plot.focus()
        samples = next(s for s in app.screen.query(Slider) if s.parameter.name == "samples")
        await press(pilot, app, "left home")
        assert samples.value == 256 and "At 256 samples" in text(app)
        assert views.has_class("-cpu") and not views.has_class("-gpu")
        await press(pilot, app, "end")
        assert samples.value > 1_000_000 and f"At {size(samples.value)} samples" in text(app)
        assert views.has_class("-gpu") and not views.has_class("-cpu")
        before = len(app.runner.measured)
        await press(pilot, app, "enter")
        assert len(app.runner.measured) == before + 1
        assert app.runner.measured[-1].scenario.parameters["samples"] == samples.value


async def test_any_panel_can_fill_the_screen_and_return(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        views = app.screen.query_one(Views)
        await press(pilot, app, "r")
        views.view.take_focus()
        small = views.size.height
        await press(pilot, app, "plus")
        assert app.screen.maximized is views and views.size.height > small + 5
        assert "CPU graph" in text(app)
        await press(pilot, app, "plus")
        assert app.screen.maximized is None and views.size.height == small
        await pilot.resize_terminal(120, 40)
        await rest(pilot, app)
        assert views.size.height >= 18 and views.outer_size.height >= 20, "the view has half of the height"
        await press(pilot, app, "p plus")
        assert isinstance(app.screen.maximized, PresetsPanel)
        await press(pilot, app, "escape")
        assert app.screen.maximized is None


async def test_the_placement_line_appears_once_it_fits(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "r")
        assert "Placement:" not in text(app)
        await pilot.resize_terminal(160, 50)
        await rest(pilot, app)
        assert "Placement: no op" not in text(app) and "CPU:0" in str(app.screen.drawing.placement.content)


@pytest.mark.parametrize("key", "AaghmHFKRop")
async def test_a_small_screen_shows_all_keys_of_each_page(tmp_path, key):
    app = lab(tmp_path)
    async with opened(app, (60, 18)) as pilot:
        await press(pilot, app, f"r {key}")
        feet = [line for line in text(app).splitlines() if "╰" in line and "esc" in line]
        assert all("esc closes ─╯" in line for line in feet), feet


async def test_after_leaving_a_demo_no_placement_is_shown(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "r")
        assert "Placement: no op has been placed yet." not in text(app)
        await press(pilot, app, "D escape")
        assert "Placement: no op has been placed yet." in text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_click_selects_and_a_second_one_opens_and_measures(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        if size[0] < 110:
            await press(pilot, app, "p")
        listed = app.screen.presets
        rows = [i for i, row in enumerate(listed.listed) if row.kind == "preset"]
        for click in (1, 2):
            await pilot.click(Presets, offset=(6, rows[1]))
            await rest(pilot, app)
            assert listed.highlighted == rows[1] and len(app.runner.measured) == click - 1
        assert app.runner.measured[0].preset == listed.listed[rows[1]].name


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 56)])
async def test_the_controls_keep_their_rows_in_all_views(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        await press(pilot, app, "r")
        places = set()
        for view in VIEWS:
            await app.screen.views.open(view)
            await rest(pilot, app)
            places.add(app.screen.query_one("#controls").region)
        assert len(places) == 1
        if size == (160, 56):
            titles = [row.text for row in app.screen.presets.listed if row.kind == "preset"]
            assert "About" in text(app) and all(title in text(app) for title in titles)


async def test_a_closing_page_opens_no_view(tmp_path):
    """A served page that is closed removes its widgets while it still handles a click on a tab."""
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        await rest(pilot, app)
        await app.screen.views.remove_children()
        await app.screen.views.open(next(iter(VIEWS)))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_timeline_begins_with_the_gpu_names_its_colours_and_lists_its_arms(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        await press(pilot, app, "r 5")
        assert "GPU xla resident: " in text(app) and "CPU graph is fastest" in text(app)
        assert "█ compute" in text(app)
        app.screen.views.view.take_focus()
        await press(pilot, app, "P")
        assert isinstance(app.screen, MenuScreen) and "CPU eager" in text(app)
        await press(pilot, app, "home enter")
        assert "CPU eager: " in text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_without_a_gpu_the_first_screen_promises_no_race(tmp_path, size):
    app = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(app, size):
        said = answer(app.lab.state).sentence
        assert "measures the CPU (no GPU is visible; {why} explains why)" in said and "which wins" not in said
        assert "{presets.open} measures" in said


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40), (200, 60)])
async def test_the_panels_next_to_the_presets_are_aligned(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size):
        panels = [app.screen.query_one(name).region for name in ("#answer", "#views", "#controls")]
        assert {(panel.x, panel.right) for panel in panels} == {(panels[0].x, size[0])}


async def test_a_sweep_reports_sizes_without_a_figure_at_its_end(tmp_path, monkeypatch):
    whole = Script._round

    def of_the_first_size(script, index):
        told = whole(script, index)
        return msgspec.structs.replace(told, blocks=tuple(b for b in told.blocks if b.point == 0))

    monkeypatch.setattr(Script, "_round", of_the_first_size)
    app = lab(tmp_path, machine=CPU_MACHINE, hold=3)
    async with opened(app) as pilot:
        await press(pilot, app, "s")
        assert app.screen.lab.state.shown.running and "No figure at" not in text(app)
        app.runner.let_go()
        await until(pilot, lambda: "No figure at" in text(app))
