"""The slider under the hands of a person: every key, the mouse, typed values, and what it refuses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tuilab.model.parameters import AtMost, Boolean, Choice, Integer, LogInteger, MultipleOf, Parameter, Value
from tuilab.tui.widgets.slider import Slider

SAMPLES = LogInteger(name="samples", label="samples", help="", default=10_240, low=256, high=16_777_216)
FRAME = LogInteger(name="frame", label="frame", help="", default=512, low=16, high=65_536)
THREADS = Integer(name="threads", label="threads", help="", default=4, low=1, high=9, step=1)
WINDOW = Choice(name="window", label="window", help="", default="hann", options=("hann", "hamming", "none"))
PAD = Boolean(name="pad", label="pad", help="", default=False)


class Bench(App[None]):
    """One slider, and what it said."""

    def __init__(self, slider: Slider) -> None:
        super().__init__()
        self.slider = slider
        self.changes: list[tuple[Value, bool]] = []

    def compose(self) -> ComposeResult:
        yield self.slider

    def on_slider_changed(self, event: Slider.Changed) -> None:
        assert event.name == self.slider.parameter.name and event.slider is self.slider
        self.changes.append((event.value, event.final))


@asynccontextmanager
async def bench(slider: Slider) -> AsyncIterator[tuple[Bench, Pilot[None]]]:
    app = Bench(slider)
    async with app.run_test(size=(100, 3)) as pilot:
        slider.focus()
        await pilot.pause()
        yield app, pilot


def row(app: Bench) -> str:
    return app.slider.render_line(0).text


@pytest.mark.parametrize(
    ("parameter", "keys", "expected"),
    [
        (SAMPLES, ["right"], 16_384),
        (SAMPLES, ["left"], 8_192),
        (SAMPLES, ["right", "right", "left"], 16_384),
        (SAMPLES, ["shift+right"], 10_752),
        (SAMPLES, ["shift+right"], 10_752),
        (SAMPLES, ["ctrl+left"], 9_728),
        (SAMPLES, ["shift+left"], 9_728),
        (SAMPLES, ["pageup"], 131_072),
        (SAMPLES, ["pagedown"], 1_024),
        (SAMPLES, ["home"], 256),
        (SAMPLES, ["end"], 16_777_216),
        (SAMPLES, ["enter", "6", "4", "k", "enter"], 65_536),
        (SAMPLES, ["enter", "1", "M", "enter"], 1_048_576),
        (SAMPLES, ["enter", "1", "2", "backspace", "k", "enter"], 1_024),
        (SAMPLES, ["enter", "9", "ctrl+u", "4", "k", "enter"], 4_096),
        (THREADS, ["right"], 5),
        (THREADS, ["left", "left"], 2),
        (THREADS, ["end"], 9),
        (THREADS, ["home"], 1),
        (THREADS, ["enter", "7", "enter"], 7),
        (WINDOW, ["right"], "hamming"),
        (WINDOW, ["end"], "none"),
        (WINDOW, ["end", "home"], "hann"),
        (WINDOW, ["end", "space"], "hann"),
        (WINDOW, ["enter"], "hamming"),
        (PAD, ["space"], True),
        (PAD, ["right"], True),
        (PAD, ["space", "enter"], False),
    ],
)
async def test_keys(parameter: Parameter, keys: list[str], expected: Value) -> None:
    async with bench(Slider(parameter)) as (app, pilot):
        await pilot.press(*keys)
        await pilot.pause()
        assert app.slider.value == expected
        assert app.changes[-1] == (expected, True)
        assert ":" not in row(app)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (["enter", "1", "enter"], "a whole number from 256 to 16,777,216"),
        (["enter", "1", "0", "0", "M", "enter"], "a whole number from 256 to 16,777,216"),
        (["enter", "5", ".", "5", "enter"], "a whole number"),
    ],
)
async def test_a_typed_value_that_is_not_allowed_is_refused_in_place(keys: list[str], reason: str) -> None:
    async with bench(Slider(SAMPLES)) as (app, pilot):
        await pilot.press(*keys)
        await pilot.pause()
        assert app.slider.value == SAMPLES.default and app.changes == []
        assert reason in row(app)
        assert reason in row(app)
        # The text stays to be mended; escape gives up.
        await pilot.press("escape")
        await pilot.pause()
        assert "10,240" in row(app) and reason not in row(app)


async def test_keys_in_one_breath_with_the_enter_that_opens_the_field_are_not_lost() -> None:
    async with bench(Slider(SAMPLES)) as (app, pilot):
        for key, character in (("enter", "\r"), ("6", "6"), ("4", "4"), ("k", "k"), ("enter", "\r")):
            app.post_message(events.Key(key, character))
        await pilot.pause()
        assert app.slider.value == 65_536


async def test_choices_are_named_however_many_there_are() -> None:
    names = ("hann", "hamming", "blackman", "kaiser", "vorbis", "none")
    window = Choice(name="window", label="window", help="", default="kaiser", options=names)
    slider = Slider(window)
    slider.styles.width = 60
    async with bench(slider) as (app, pilot):
        assert row(app).rstrip().endswith("… blackman · kaiser · vorbis …")
        await pilot.press("end")
        assert row(app).rstrip().endswith("… kaiser · vorbis · none") and app.slider.value == "none"
        await pilot.press("home")
        assert "hann · hamming · " in row(app) and row(app).rstrip().endswith("…")


async def test_keys_typed_into_a_value_reach_nobody_else() -> None:
    async with bench(Slider(SAMPLES)) as (app, pilot):
        await pilot.press("enter", "4", "m", "left", "k")
        assert app.changes == []
        assert app.slider.check_consume_key("q", "q")
        await pilot.press("escape")
        assert not app.slider.check_consume_key("q", "q")


async def test_a_bound_set_by_another_parameter_stops_the_slider_and_says_why() -> None:
    slider = Slider(FRAME)
    slider.limit_by([AtMost("frame", "samples", "a frame fits")], {"frame": 512, "samples": 700})
    async with bench(slider) as (app, pilot):
        await pilot.press("right")
        assert slider.value == 700
        await pilot.press("right")
        await pilot.pause()
        assert slider.value == 700
        assert "at most samples = 700: a frame fits" in row(app)
        assert "a frame fits" in row(app)
        await pilot.press("end", "enter", "4", "k", "enter")
        await pilot.pause()
        assert slider.value == 700 and "a frame fits" in row(app)


async def test_the_other_side_of_a_bound_is_a_least_value() -> None:
    slider = Slider(SAMPLES)
    slider.limit_by([AtMost("frame", "samples", "a frame fits")], {"frame": 5_000, "samples": 10_240})
    async with bench(slider) as (app, pilot):
        await pilot.press("home")
        assert slider.value == 5_000
        await pilot.press("left")
        await pilot.pause()
        assert "at least frame = 5,000: a frame fits" in row(app)


async def test_a_multiple_is_kept_by_arrows_and_asked_for_when_typed() -> None:
    slider = Slider(FRAME, 480)
    slider.limit_by([MultipleOf("frame", "tile", "tiles are whole")], {"frame": 480, "tile": 48})
    async with bench(slider) as (app, pilot):
        await pilot.press("right")
        assert slider.value == 528
        await pilot.press("left")
        assert slider.value == 480
        await pilot.press("enter", "5", "0", "0", "enter")
        await pilot.pause()
        assert slider.value == 480 and "a multiple of tile = 48" in row(app)


async def test_marks_and_the_crossover_are_visited_in_turn() -> None:
    slider = Slider(SAMPLES, marks=(1_000, 100_000))
    slider.set_crossover(18_300.4, (15_000, 22_000))
    async with bench(slider) as (app, pilot):
        await pilot.press("m", "m", "m", "M")
        await pilot.pause()
        assert [value for value, _ in app.changes] == [18_300, 100_000, 1_000, 100_000]
        assert "┊" in row(app) and "•" in row(app)


async def test_without_marks_the_key_says_so() -> None:
    async with bench(Slider(FRAME)) as (app, pilot):
        await pilot.press("m")
        await pilot.pause()
        assert "gives no value" in row(app)


async def test_dragging_follows_the_mouse_and_ends_final() -> None:
    async with bench(Slider(SAMPLES)) as (app, pilot):
        text = row(app)
        start, end = text.index("┣") + 1, text.index("┫") - 1
        await pilot.mouse_down(Slider, offset=(start + 5, 0))
        await pilot.hover(Slider, offset=(start + 20, 0))
        await pilot.hover(Slider, offset=(end + 30, 2))
        assert app.slider.value == SAMPLES.high
        assert all(not final for _, final in app.changes)
        await pilot.mouse_up(Slider, offset=(end, 0))
        await pilot.pause()
        assert app.changes[-1] == (SAMPLES.high, True)
        assert len({value for value, _ in app.changes}) >= 3
        await pilot.hover(Slider, offset=(start, 0))
        assert app.slider.value == SAMPLES.high


async def test_dragging_beyond_a_bound_holds_there_and_says_why() -> None:
    slider = Slider(FRAME)
    slider.limit_by([AtMost("frame", "samples", "the signal is short")], {"frame": 512, "samples": 1_000})
    async with bench(slider) as (app, pilot):
        end = row(app).index("┫") - 1
        await pilot.mouse_down(Slider, offset=(end, 0))
        await pilot.mouse_up(Slider, offset=(end, 0))
        await pilot.pause()
        assert slider.value == 1_000 and app.changes[-1] == (1_000, True)
        assert "the signal is short" in row(app)


async def test_a_click_on_a_name_takes_it_and_a_click_on_the_value_types() -> None:
    async with bench(Slider(WINDOW)) as (app, pilot):
        await pilot.click(Slider, offset=(row(app).index("none") + 1, 0))
        assert app.slider.value == "none"
    async with bench(Slider(SAMPLES)) as (app, pilot):
        await pilot.click(Slider, offset=(row(app).index("10,240"), 0))
        await pilot.press("2", "k", "enter")
        assert app.slider.value == 2_048


async def test_the_owner_sets_values_without_an_echo() -> None:
    async with bench(Slider(SAMPLES)) as (app, pilot):
        app.slider.set_value(4_096)
        app.slider.set_note("16 kB in")
        await pilot.pause()
        assert app.changes == [] and "4,096" in row(app) and "16 kB in" in row(app)
