"""Keys mean the same wherever the focus is: digits are views, j and k move, / filters, enter edits a slider."""

import pytest
from textual.events import MouseScrollDown, MouseScrollUp

from tests.tui.lab import lab, opened, press, rest, text
from tuilab.tui.actions import ACTIONS
from tuilab.tui.panels.presets import Presets
from tuilab.tui.screens.help import KeysScreen
from tuilab.tui.widgets.slider import Slider


async def test_keys_mean_the_same_wherever_the_focus_is_and_the_footer_says_which(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        values, listed = app.screen.lab.state, app.screen.presets
        assert "enter open and measure" in text(app).splitlines()[-1]
        assert "* " not in text(app).splitlines()[0]
        at = listed.highlighted
        await press(pilot, app, "j")
        assert listed.highlighted > at
        await press(pilot, app, "k")
        assert listed.highlighted == at
        await press(pilot, app, "l i")
        foot, first = text(app).splitlines()[-1], app.focused
        assert "enter type a value" in foot and "open and measure" not in foot
        await press(pilot, app, "j")
        assert isinstance(app.focused, Slider) and app.focused is not first
        await press(pilot, app, "k 2")
        assert app.focused is first and app.screen.views.key == "compare", "a digit is a view"
        await press(pilot, app, "i enter 5 1 2 enter")
        assert values.settings.values["samples"] == 512 and app.screen.views.key == "compare"
        assert "samples *" in text(app).splitlines()[0] and "▸  * " in text(app), "a changed preset is marked"
        await press(pilot, app, "z")
        assert values.settings.values["samples"] == 256 and "▸  * " not in text(app)
        await press(pilot, app, "r a home j")  # a page's list
        assert app.screen.focused.highlighted == 1


async def test_the_wheel_scrolls_the_presets_and_opens_none(tmp_path):
    app = lab(tmp_path, presets=())
    async with opened(app) as pilot:
        listed = app.screen.presets
        at, opened_before = listed.highlighted, app.screen.lab.state.settings
        assert listed.max_scroll_y > 0 and listed.scroll_y == 0
        await pilot._post_mouse_events([MouseScrollDown], Presets, button=0)
        await rest(pilot, app)
        assert listed.scroll_y > 0 and listed.highlighted == at
        await pilot._post_mouse_events([MouseScrollUp], Presets, button=0)
        await rest(pilot, app)
        assert listed.scroll_y == 0
        assert app.screen.lab.state.settings is opened_before and app.runner.measured == []


async def test_slash_filters_the_presets(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        everything = app.screen.presets.option_count
        await press(pilot, app, "slash m e d i u m")
        assert app.screen.presets.option_count == 2, "the document's heading, and the preset"
        assert app.runner.measured == []
        await press(pilot, app, "enter")
        assert [m.preset for m in app.runner.measured] == ["stft-medium"]
        assert isinstance(app.focused, Presets)
        await press(pilot, app, "escape")
        assert app.screen.presets.option_count == everything


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_key_is_on_one_page(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        await press(pilot, app, "K")
        assert isinstance(app.screen, KeysScreen)
        shown = text(app)
        for action in ACTIONS:
            assert action.label in shown, action.id
        await press(pilot, app, "escape")
        assert not isinstance(app.screen, KeysScreen)
