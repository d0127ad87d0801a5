"""The main screen by keys, with a scripted worker."""

from textual.pilot import Pilot

from tests.tui.lab import lab, opened, press, rest, text, until
from tests.tui.scripted import CPU_MACHINE
from tuilab.model.requests import Painted
from tuilab.tui.panels.controls import Controls
from tuilab.tui.panels.presets import PresetsPanel
from tuilab.tui.panels.views import VIEWS, Views
from tuilab.tui.widgets.slider import Slider


def slider(app, name: str) -> Slider:
    return app.screen_stack[0].query_one(f"#p-{name}", Slider)


def lab_state(app):
    return app.screen_stack[0].lab.state


async def test_enter_opens_a_preset_and_measures_it(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["down", "enter"])
        assert [m.preset for m in app.runner.measured] == ["stft-medium"]
        assert lab_state(app).shown.rounds == 8
        shown = text(app)
    assert "done, 8 rounds" in shown
    assert "CPU graph" in shown and "claim:" in shown


async def test_every_report_is_answered_by_painted(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter"])
        painted = [r for r in app.runner.sent if isinstance(r, Painted)]
    assert painted and {p.id for p in painted} == {"run1"}


async def test_a_slider_at_rest_is_measured_and_undone(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter", "i", "right"])
        assert lab_state(app).settings.values["samples"] == 512
        assert [m.scenario.parameters["samples"] for m in app.runner.measured] == [256, 512]
        assert all(m.budget.name == "quick" for m in app.runner.measured)
        await press(pilot, app, ["u"])
        assert slider(app, "samples").value == 256
        assert app.runner.measured[-1].scenario.parameters["samples"] == 256
        await press(pilot, app, ["U"])
        assert slider(app, "samples").value == 512


async def test_a_drag_is_measured_once_it_is_dropped_and_undone_as_one(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter"])
        first = slider(app, "samples")._places.track
        await pilot.mouse_down("#p-samples", offset=(first, 0))
        for column in range(first, first + 8):
            await pilot.hover("#p-samples", offset=(column, 0))
        await rest(pilot, app)
        moved = lab_state(app).settings.values["samples"]
        assert moved > 256 and len(app.runner.measured) == 1
        await pilot.mouse_up("#p-samples", offset=(first + 7, 0))
        await rest(pilot, app)
        assert [m.scenario.parameters["samples"] for m in app.runner.measured] == [256, moved]
        await press(pilot, app, ["u"])
        assert lab_state(app).settings.values["samples"] == 256


async def test_live_sliders_can_be_switched_off(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["l", "i", "right", "right"])
        assert app.runner.measured == []
        assert "r measures" in text(app)
        await press(pilot, app, ["r"])
        (request,) = app.runner.measured
        assert request.budget.name == "standard" and request.scenario.parameters["samples"] == 1024


async def test_sliding_replaces_a_run_that_sliding_began(tmp_path):
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter", "i", "right"])
        assert app.runner.cancelled == ["run1"]
        assert [m.id for m in app.runner.measured] == ["run1", "run2"]


async def test_sliding_leaves_a_run_alone_that_a_person_asked_for(tmp_path):
    app = lab(tmp_path, hold=3)
    async with opened(app) as pilot:
        await press(pilot, app, ["r", "i", "right"])
        assert app.runner.cancelled == [] and len(app.runner.measured) == 1
        app.runner.let_go()
        await rest(pilot, app)
        assert "settings changed" in text(app)


async def test_stop(tmp_path):
    app = lab(tmp_path, hold=4)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter"])
        assert "round 4" in text(app) and "x stops" in text(app)
        await press(pilot, app, ["x"])
        assert app.runner.cancelled == ["run1"]
        assert "stopped after 4 rounds" in text(app)
        assert lab_state(app).shown.status == "cancelled"


async def test_the_screen_waits_for_nobody(tmp_path):
    """Before the worker is ready everything works, and a run that was asked for begins when it is."""
    app = lab(tmp_path, warm=False)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter"])
        assert "importing TensorFlow" in text(app) and "then runs" in text(app)
        assert app.runner.measured == []
        app.runner.ready()
        await rest(pilot, app)
        (request,) = app.runner.measured
        assert {arm.device for arm in request.arms} == {"CPU:0", "GPU:0"}


async def test_a_run_that_waits_can_be_stopped(tmp_path):
    app = lab(tmp_path, warm=False)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter", "x"])
        app.runner.ready()
        await rest(pilot, app)
        assert app.runner.measured == []


async def test_device_dtype_and_switches_choose_arms(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["l"])
        slider(app, "device").focus()
        await press(pilot, app, ["home"])
        assert lab_state(app).settings.arms.devices == ("CPU",)
        slider(app, "dtype").focus()
        await press(pilot, app, ["right"])
        assert lab_state(app).settings.values["dtype"] == "float64"
        app.screen.query("SwitchBox").first().focus()
        await press(pilot, app, ["space"])
        await press(pilot, app, ["r"])
        arms = app.runner.measured[-1].arms
        assert {(a.device, a.mode, a.dtype) for a in arms} == {
            ("CPU:0", "graph", "float64"),
            ("CPU:0", "xla", "float64"),
        }


async def test_without_a_gpu_the_screen_says_so(tmp_path):
    app = lab(tmp_path, machine=CPU_MACHINE)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter"])
        shown = text(app)
    assert "no GPU" in shown and "No GPU is visible" in shown
    assert "GPU:0" not in shown.split("Placement")[0].replace("GPU:0 ", "")


async def test_every_view_opens_by_its_key_and_says_something(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        for number, key in zip("1234567890", VIEWS, strict=True):
            await press(pilot, app, [number])
            views = app.screen.query_one(Views)
            assert views.key == key
            assert views.view.is_on_screen
            body = [line[34:].strip(" │") for line in text(app).splitlines()[6:20]]
            assert any(body), f"{key} is empty without a sentence"


async def test_views_go_round(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["["])
        assert app.screen.query_one(Views).key == "roofline"
        await press(pilot, app, ["]"])
        assert app.screen.query_one(Views).key == "live"


async def test_a_broken_preset_is_listed_with_its_message(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["end"])
        shown = text(app)
    assert "Not loaded" in shown and "broken" in shown
    assert "samples" in shown and "16,777,216" in shown


async def test_ghosts_and_arms(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter", "i", "right"])
        assert [g.run for g in lab_state(app).ghosts] == ["run1"]
        await press(pilot, app, ["a", "o", "escape"])
        assert len(lab_state(app).drawn) == 1
        await press(pilot, app, ["a", "a", "end", "escape"])
        assert len(lab_state(app).drawn) == len(lab_state(app).shown.arms)


async def test_drawer_on_a_narrow_screen(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        presets = app.screen.query_one(PresetsPanel)
        assert not presets.display
        await press(pilot, app, ["p"])
        assert presets.display and presets.has_focus_within
        await press(pilot, app, ["enter"])
        assert not presets.display
        assert app.screen.query_one(Controls).has_focus_within


async def test_a_screen_too_small_says_so_and_recovers(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (50, 12)) as pilot:
        assert "needs 60" in text(app)
        await pilot.resize_terminal(120, 40)
        await rest(pilot, app)
        assert "Presets" in text(app)


async def test_leaving_ends_the_worker(tmp_path):
    app = lab(tmp_path, hold=2)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter"])
        await pilot.press("q")
        await until(pilot, lambda: app.runner.closed)


async def click_tab(pilot: Pilot[int], views: Views, key: str) -> None:
    await pilot.click(offset=views.tab_offsets()[key])


async def test_tabs_by_mouse(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        views = app.screen.query_one(Views)
        for key in VIEWS:
            await click_tab(pilot, views, key)
            await rest(pilot, app)
            assert views.key == key
