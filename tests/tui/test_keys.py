"""Keys have the same meaning on every panel: digits choose views, j and k move, / filters, enter edits a
slider.
"""

import importlib
import pkgutil
import re

import pytest
from textual.binding import Binding
from textual.events import Key, MouseScrollDown, MouseScrollUp
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import OptionList, Tabs

from tests.tui.lab import lab, opened, press, rest, text
from tuilab import tui
from tuilab.tui.actions import ACTIONS, REPLAY
from tuilab.tui.panels.key_bar import KeyBar
from tuilab.tui.panels.presets import Presets
from tuilab.tui.screens.help import HelpScreen, KeysScreen
from tuilab.tui.screens.machines import MachinesScreen
from tuilab.tui.views.filtered import Filter
from tuilab.tui.widgets.bars import Bars
from tuilab.tui.widgets.slider import Slider


async def test_keys_that_arrive_together_act_in_order(tmp_path):
    """A slow line delivers several keys at once."""
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "i")
        first = app.focused
        for key, character in (("down", None), ("enter", "\r"), ("5", "5"), ("1", "1"), ("down", None)):
            app.post_message(Key(key, character))
        await rest(pilot, app)
        assert isinstance(app.focused, Slider) and app.focused is not first
        assert app.focused.typed == "51" and first.typed is None


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_keys_mean_the_same_with_any_focus_and_the_footer_lists_them(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
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
        assert app.focused is first and app.screen.views.key == "compare", "a digit opens a view"
        await press(pilot, app, "i enter 5 1 2")
        foot = text(app).splitlines()[-1]
        assert "type a value" not in foot, "enter now accepts the value"
        assert "next mark" not in foot, "the key n would be typed"
        await press(pilot, app, "enter")
        assert "enter type a value" in text(app).splitlines()[-1]
        assert values.settings.values["samples"] == 512 and app.screen.views.key == "compare"
        assert "samples *" in text(app).splitlines()[0], "a changed preset is marked"
        assert size[0] < 120 or "▸  * " in text(app), "the list marks it, too"
        await press(pilot, app, "z")
        assert values.settings.values["samples"] == 256 and "▸  * " not in text(app)
        await press(pilot, app, "r a home j")  # j also moves in the list of a page
        assert app.screen.focused.highlighted == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_refused_value_shows_what_is_accepted(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        await press(pilot, app, ["i", "enter", *"99999999999", "enter"])
        assert re.search(r"a whole number from 256 to [\d,]+ is expected", text(app))


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


async def test_the_wheel_moves_tabs_that_do_not_fit(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (60, 18)) as pilot:
        assert "Live Compare" in text(app) and "Roofline" not in text(app)
        for _ in range(6):
            await pilot._post_mouse_events([MouseScrollDown], Tabs, button=0)
        await rest(pilot, app)
        assert "Roofline" in text(app) and "Live Compare" not in text(app)
        assert app.screen.views.key == "live", "scrolling opens no view"
        for _ in range(6):
            await pilot._post_mouse_events([MouseScrollUp], Tabs, button=0)
        await rest(pilot, app)
        assert "Live Compare" in text(app)


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


async def test_down_leaves_the_filter_for_the_first_match_and_enter_opens_it(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "slash s t f t")
        assert app.screen.presets.option_count > 2
        await press(pilot, app, "down")
        assert isinstance(app.focused, Presets) and app.runner.measured == []
        await press(pilot, app, "enter")
        assert len(app.runner.measured) == 1 and app.runner.measured[0].preset.startswith("stft")


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


def kinds(of: type[Widget]):
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_no_panel_gives_a_key_of_the_lab_another_meaning():
    for module in pkgutil.walk_packages(tui.__path__, "tuilab.tui."):
        importlib.import_module(module.name)
    everywhere = {key for action in ACTIONS for key in action.keys.split(",")}
    # Lists of pages use j and k as the arrows; space has its own use in switches and replays.
    everywhere -= {"j", "k", *(key for action in REPLAY for key in action.keys.split(","))}
    own = {
        (kind.__name__, key)
        for kind in kinds(Widget)
        if kind.__module__.startswith("tuilab.") and not issubclass(kind, Screen)
        for binding in kind.__dict__.get("BINDINGS", ())
        if isinstance(binding, Binding)
        for key in binding.key.split(",")
        if key in everywhere
    }
    # These keys may have two meanings: during the demo, digits are guesses, and a list on a page is never
    # visible together with the lab's panels.
    assert own == {("DemoBar", "1"), ("DemoBar", "2"), ("DemoBar", "3"), ("DemoBar", "e"), ("Arms", "o"), ("Arms", "a"),
                   ("RunsTable", "a"), ("Findings", "p")}  # fmt: skip


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_keys_of_the_lab_work_on_sliders_and_pictures(tmp_path, size):
    app = lab(tmp_path, rerun=False)
    async with opened(app, size) as pilot:
        values = app.screen.lab.state
        await press(pilot, app, "i enter 5 1 2")
        assert "type a value" not in text(app).splitlines()[-1], "enter now accepts the value"
        await press(pilot, app, "enter")
        assert "enter type a value" in text(app).splitlines()[-1]
        assert text(app).splitlines()[-1].lstrip().startswith("enter type a value n next mark"), (
            "its own first"
        )
        await press(pilot, app, "n N")
        assert values.settings.values["samples"] != 512, "n and N move between marks"
        await press(pilot, app, "z m")
        assert isinstance(app.screen, MachinesScreen) and values.settings.original
        await press(pilot, app, "escape r 5")
        app.screen.views.view.take_focus()
        await rest(pilot, app)
        assert text(app).splitlines()[-1].lstrip().startswith("= closer - wider"), "its own first"
        await press(pilot, app, "plus")
        assert app.screen.maximized is app.screen.views
        await press(pilot, app, "plus i right z")
        assert values.settings.original


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_opening_a_view_moves_the_focus_there_and_its_filter_opens_from_the_sliders(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        # If the list of presets is hidden, enter moves the focus to the sliders. The first 6 then only shows
        # the view, and the second 6 moves the focus to it.
        await press(pilot, app, "enter 6" if size[0] >= 120 else "enter 6 6")
        preset = app.screen.lab.state.settings.preset
        groups = app.screen.views.view.query_one(OptionList)
        assert app.focused is groups
        await press(pilot, app, "down")
        assert groups.highlighted == 1 and not app.screen.has_class("-drawer")
        await press(pilot, app, "enter")
        assert app.screen.lab.state.settings.preset is preset and len(app.runner.measured) == 1
        await press(pilot, app, "i 2")
        assert isinstance(app.focused, Slider), "opening a view leaves the focus on the slider"
        await press(pilot, app, "2")
        assert app.focused is app.screen.views.view.query_one(Bars), (
            "pressing the key again moves the focus into the view"
        )
        await press(pilot, app, "i 6 slash")
        assert isinstance(app.focused, Filter) and "/ filters the ops" in text(app)
        await press(pilot, app, "escape 1 i slash")
        assert app.focused.id == "preset-filter", "this view has no filter"


async def test_a_hidden_list_has_no_keys(tmp_path):
    app = lab(tmp_path)
    async with opened(app, (80, 24)) as pilot:
        await press(pilot, app, "r down")
        assert not app.screen.has_class("-drawer") and isinstance(app.focused, Slider)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 18)])
async def test_the_footer_ends_with_a_whole_key_and_clicks_work(tmp_path, size):
    app = lab(tmp_path)
    async with opened(app, size) as pilot:
        for keys in ("r", "c", "c", "i", "6 6"):
            await press(pilot, app, keys)
            shown = {f.binding.description for f in app.screen.active_bindings.values() if f.binding.show}
            line, _, right = text(app).splitlines()[-1].partition("▏")
            assert right == "^p palette" and any(line.rstrip().endswith(f" {words}") for words in shown), line
        await pilot.click(KeyBar, offset=(line.index("help"), 0))
        await rest(pilot, app)
        assert isinstance(app.screen, HelpScreen)
