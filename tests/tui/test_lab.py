import pytest

from tests.tui.lab import lab, opened, press, rest, text
from tests.tui.scripted import CPU_MACHINE
from tuilab.model.requests import Painted
from tuilab.tui.actions import VIEWS
from tuilab.tui.panels.controls import Controls
from tuilab.tui.panels.presets import PresetsPanel
from tuilab.tui.panels.views import Views
from tuilab.tui.screens.help import page
from tuilab.tui.widgets.slider import Slider


def slider(app, name: str) -> Slider:
    return app.screen_stack[0].query_one(f"#p-{name}", Slider)


def lab_state(app):
    return app.screen_stack[0].lab.state


def measured(app) -> list[int]:
    return [request.scenario.parameters["samples"] for request in app.runner.measured]


async def test_enter_opens_a_preset_and_measures_it(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "down enter")
        assert [m.preset for m in app.runner.measured] == ["stft-medium"]
        assert lab_state(app).shown.rounds == 8
        shown = text(app)
        assert "done, 8 rounds" in shown and "CPU graph" in shown and "claim:" in shown
        painted = [r for r in app.runner.sent if isinstance(r, Painted)]
        assert painted and {p.id for p in painted} == {"run1"}, "every report is answered"
        await press(pilot, app, "p end")
        shown = text(app)
        assert "Not loaded" in shown and "broken" in shown
        assert "samples" in shown and "16,777,216" in shown, "a broken preset has its message"


async def test_a_slider_at_rest_or_released_is_measured_and_can_be_undone(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "enter i right")
        assert lab_state(app).settings.values["samples"] == 512
        assert measured(app) == [256, 512] and all(m.budget.name == "quick" for m in app.runner.measured)
        assert [g.run for g in lab_state(app).ghosts.kept] == ["run1"]
        await press(pilot, app, "u")
        assert slider(app, "samples").value == 256 and measured(app) == [256, 512, 256]
        await press(pilot, app, "U")
        assert slider(app, "samples").value == 512
        first, before = slider(app, "samples")._track.start, len(measured(app))
        await pilot.mouse_down("#p-samples", offset=(first + 8, 0))
        for column in range(first + 9, first + 16):
            await pilot.hover("#p-samples", offset=(column, 0))
        await rest(pilot, app)
        moved = lab_state(app).settings.values["samples"]
        assert moved > 512 and len(measured(app)) == before
        await pilot.mouse_up("#p-samples", offset=(first + 15, 0))
        await rest(pilot, app)
        assert measured(app)[before:] == [moved], "a drag is measured once"
        await press(pilot, app, "u")
        assert lab_state(app).settings.values["samples"] == 512, "a drag is undone as one change"


async def test_the_measured_preset_is_named_while_another_is_highlighted(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (120, 40)) as pilot:
        lines = []
        app.screen.corner.say = lambda words, *_: lines.append(words)
        opened_title = app.lab.state.settings.title
        await press(pilot, app, "s p")
        assert not lines, "no row is marked"
        await press(pilot, app, "down")
        marked = app.screen.presets.listed[app.screen.presets.highlighted].text.strip()
        await press(pilot, app, "s")
        assert app.lab.state.settings.title == opened_title and opened_title not in marked
        assert (
            lines[-1].startswith(f"The open preset is being swept: {opened_title}. ") and marked in lines[-1]
        )
        await press(pilot, app, "p r")
        assert lines[-1].startswith(f"The open preset is being measured: {opened_title}. ")


async def test_live_sliders_can_be_switched_off(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "l i right right")
        assert app.runner.measured == [] and "r measures" in text(app)
        await press(pilot, app, "r")
        (request,) = app.runner.measured
        assert request.budget.name == "quick" and request.scenario.parameters["samples"] == 1024
        await press(pilot, app, "a o escape")
        assert len(app.screen_stack[0].viewing.drawn_arms(lab_state(app).shown)) == 1
        await press(pilot, app, "a a end escape")
        assert len(app.screen_stack[0].viewing.drawn_arms(lab_state(app).shown)) == len(
            lab_state(app).shown.arms
        )


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_both_keys_measure_with_the_budget_that_the_screen_shows(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        assert "quick, about" in text(app)
        await press(pilot, app, "r b")
        assert "standard, about" in text(app)
        await press(pilot, app, "r p enter")
        assert [m.budget.name for m in app.runner.measured] == ["quick", "standard", "standard"]


async def test_the_precision_of_a_sweep_is_written_as_a_percentage(tmp_path):
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        await press(pilot, app, "s")
        assert "quick, ± 5%" in text(app)


async def test_sliding_replaces_only_runs_that_sliding_began(tmp_path):
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        await press(pilot, app, "enter i right")
        assert app.runner.cancelled == ["run1"]
        assert [m.id for m in app.runner.measured] == ["run1", "run2"]
        await press(pilot, app, "x")
        assert app.runner.cancelled == ["run1", "run2"]
        assert "stopped after 3 rounds" in text(app) and lab_state(app).shown.status == "cancelled"
        await press(pilot, app, "r")
        assert "round 6" in text(app) and "x stops" in text(app)
        assert app.runner.measured[2].id == "run2", "a stopped run is resumed"
        await press(pilot, app, "i right")
        assert app.runner.cancelled == ["run1", "run2"] and len(app.runner.measured) == 3
        app.runner.let_go()
        await rest(pilot, app)
        assert "settings changed" in text(app)


async def test_further_processes_are_not_restarted_and_their_stop_key_is_named(tmp_path):
    app = lab(tmp_path, rounds=6)
    async with opened(app, messages=True) as pilot:
        await press(pilot, app, "r")
        app.runner.hold = 3
        await press(pilot, app, "b b r")  # the budget is now `publish`, so r continues the run
        began, further = app.runner.measured
        assert further.id == began.id and "process 2 of" in text(app)
        await press(pilot, app, "r")
        assert app.runner.cancelled == [] and len(app.runner.measured) == 2
        assert "Already measuring: process 2 of" in " ".join(text(app).split())
        await press(pilot, app, "b r")
        assert app.runner.cancelled == ["run1"], "another budget starts another run"
        await press(pilot, app, "x r")
        assert len(app.runner.measured) == 4


async def test_the_screen_never_waits_for_the_worker(tmp_path):
    app = lab(tmp_path, warm=False)
    async with opened(app) as pilot:
        await press(pilot, app, "enter")
        assert "importing TensorFlow" in text(app) and "then the run starts" in text(app)
        await press(pilot, app, "x b r")
        assert app.runner.measured == []
        app.runner.ready()
        await rest(pilot, app)
        (request,) = app.runner.measured
        assert request.budget.name == "standard", "the stopped run does not start"
        assert {arm.device for arm in request.arms} == {"CPU:0", "GPU:0"}


async def test_device_dtype_and_switches_choose_arms(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "l")
        slider(app, "device").focus()
        await press(pilot, app, "home")
        assert lab_state(app).settings.arms.devices == ("CPU",)
        slider(app, "dtype").focus()
        await press(pilot, app, "right")
        assert lab_state(app).settings.values["dtype"] == "float64"
        app.screen.query("SwitchBox").first().focus()
        await press(pilot, app, "space r")
        arms = app.runner.measured[-1].arms
        assert {(a.device, a.mode, a.dtype) for a in arms} == {
            ("CPU:0", "graph", "float64"),
            ("CPU:0", "xla", "float64"),
        }
        await press(pilot, app, "right space right space")
        assert lab_state(app).settings.arms.modes == ("xla",)
        assert "At least one mode must stay on." in [said.message for said in app._notifications]
        assert "☑ xla" in text(app), "the last one stays on"


async def test_without_a_gpu_the_screen_says_so(tmp_path):
    app = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(app) as pilot:
        await press(pilot, app, "enter")
        shown = text(app)
    assert "no GPU" in shown and "No GPU is visible" in shown
    assert "GPU:0" not in shown.split("Placement")[0].replace("GPU:0 ", "")


async def test_every_view_opens_by_key_and_tab_and_has_content_and_help(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        views = app.screen.query_one(Views)
        for key, action in VIEWS.items():
            await press(pilot, app, action.keys.partition(",")[0])
            assert views.key == key and views.view.is_on_screen
            body = [line[34:].strip(" │") for line in text(app).splitlines()[6:20]]
            assert any(body), f"{key} is empty without a sentence"
            assert f"## {action.tab}" in page(app.screen, app.keymap)
        await press(pilot, app, "]")
        assert views.key == "live"
        await press(pilot, app, "[")
        assert views.key == list(VIEWS)[-1]
        for key in VIEWS:
            await pilot.click(f"Tab#{key}", offset=(1, 0))
            await rest(pilot, app)
            assert views.key == key


async def test_a_narrow_screen_has_a_drawer_and_a_tiny_one_says_so(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        presets = app.screen.query_one(PresetsPanel)
        assert not presets.display
        await press(pilot, app, "p")
        assert presets.display and presets.has_focus_within
        await press(pilot, app, "enter")
        assert not presets.display
        assert app.screen.query_one(Controls).has_focus_within
        opening = (
            ("p", True),
            ("r", False),
            ("p", True),
            ("2", False),
            ("p down slash", True),
            ("escape D", False),
        )
        for keys, shown in opening:
            await press(pilot, app, keys)
            assert presets.display is shown, keys
        await press(pilot, app, "escape")
        app.screen.presets.focus()
        await press(pilot, app, "down")
        assert presets.display, "a focused list must be visible"
        await press(pilot, app, "slash")
        assert presets.query("#preset-filter").first().has_focus
        await press(pilot, app, "escape escape")
        for size, words in (((50, 12), "q quits."), ((120, 40), "Presets")):
            await pilot.resize_terminal(*size)
            await rest(pilot, app)
            assert words in text(app)
    app = lab(tmp_path)
    async with opened(app, (50, 12)):
        assert "needs 60" in text(app) and "q quits." in text(app)
