import re
from dataclasses import replace

import pytest
from textual import events

from tests.tui.widgets.bench import bench, press, shown
from tuilab.lab.slider import Control, reach
from tuilab.model.parameters import (
    AtMost,
    Choice,
    Constraint,
    Integer,
    LogInteger,
    MultipleOf,
    Parameter,
    Value,
)  # fmt: skip
from tuilab.tui.widgets.slider import Slider

SAMPLES = LogInteger(name="samples", label="samples", help="", default=10_240, low=256, high=16_777_216)
FRAME = LogInteger(name="frame", label="frame", help="", default=512, low=16, high=65_536)
THREADS = Integer(name="threads", label="threads", help="", default=4, low=1, high=9, step=1)
WINDOW = Choice(name="window", label="window", help="", default="hann", options=("hann", "hamming", "none"))


def slider_of(parameter: Parameter, value: Value | None = None, *rules: Constraint, **more) -> Slider:
    """Return a slider set to `value`. rules: constraints between parameters."""
    value, values = parameter.default if value is None else value, more.pop("values", {})
    return Slider(Control(parameter, value, reach(parameter, rules, values), **more))


KEYS = {
    "right": 16_384, "left": 8_192, "right right left": 16_384, "shift+right": 10_752, "ctrl+left": 9_728,
    "shift+left": 9_728, "pageup": 131_072, "pagedown": 1_024, "home": 256, "end": 16_777_216,
    "enter 6 4 k enter": 65_536, "enter 1 M enter": 1_048_576, "enter 1 2 backspace k enter": 1_024,
    "enter 9 ctrl+u 4 k enter": 4_096,
}  # fmt: skip


@pytest.mark.parametrize(
    ("parameter", "leads"),
    [
        (SAMPLES, KEYS),
        (THREADS, {"right": 5, "left left": 2, "end": 9, "home": 1, "enter 7 enter": 7}),
        (
            WINDOW,
            {"right": "hamming", "end": "none", "end home": "hann", "end space": "hann", "enter": "hamming"},
        ),
    ],
    ids=["samples", "threads", "window"],
)
async def test_keys_move_the_slider(parameter: Parameter, leads: dict[str, Value]) -> None:
    slider = slider_of(parameter)
    async with bench(slider) as pilot:
        for keys, expected in leads.items():
            slider.control = replace(slider.control, value=parameter.default)
            await press(pilot, keys)
            assert slider.value == expected, keys
            assert pilot.app.said[-1] == (expected, True) and ":" not in shown(slider), keys


async def test_a_typed_value_that_is_not_allowed_can_be_corrected_in_place() -> None:
    slider = slider_of(SAMPLES)
    whole = "a whole number from 256 to 16,777,216"
    async with bench(slider) as pilot:
        for typed, reason in (("1", whole), ("1 0 0 M", whole), ("5 . 5", "a whole number")):
            await press(pilot, f"enter {typed} enter")
            assert slider.value == SAMPLES.default and pilot.app.said == []
            assert reason in shown(slider)
            await press(pilot, "escape")
            assert "10,240" in shown(slider) and reason not in shown(slider)


async def test_fast_typing_goes_only_to_the_value() -> None:
    slider = slider_of(SAMPLES)
    async with bench(slider) as pilot:
        await press(pilot, "enter 4 m left k")
        assert pilot.app.said == [] and slider.check_consume_key("q", "q")
        await press(pilot, "escape")
        assert not slider.check_consume_key("q", "q")
        for key, character in (("enter", "\r"), ("6", "6"), ("4", "4"), ("k", "k"), ("enter", "\r")):
            pilot.app.post_message(events.Key(key, character))  # the keys follow each other without a pause
        await pilot.pause()
        assert slider.value == 65_536


async def test_the_upper_end_is_shown_completely() -> None:
    for high, said in ((1_000_000, "1.0 M"), (1_048_576, "1M"), (65_536, "64k")):
        slider = slider_of(LogInteger(name="elements", help="", default=1_000, low=1, high=high))
        slider.styles.width = 70
        async with bench(slider):
            assert f"┫ {said} " in f"{shown(slider)} " and "…" not in shown(slider)


async def test_a_choice_whose_name_does_not_fit_is_marked_as_shortened() -> None:
    names = ("hann", "kaiser-bessel derived", "vorbis")
    slider = slider_of(Choice(name="window", help="", default=names[1], options=names))
    slider.styles.width = 40
    async with bench(slider):
        assert re.search(r"… kaiser-bes\w*… …$", shown(slider)), shown(slider)


async def test_any_number_of_choices_is_named() -> None:
    names = ("hann", "hamming", "blackman", "kaiser", "vorbis", "none")
    slider = slider_of(Choice(name="window", help="", default="kaiser", options=names))
    slider.styles.width = 55
    async with bench(slider) as pilot:
        assert shown(slider).endswith("… blackman · kaiser · vorbis …")
        await press(pilot, "end")
        assert shown(slider).endswith("… kaiser · vorbis · none") and slider.value == "none"
        await press(pilot, "home")
        assert "hann · hamming · " in shown(slider) and shown(slider).endswith("…")


AT_MOST = AtMost("frame", "samples", "a frame fits")
TILES = MultipleOf("frame", "tile", "tiles are whole")


@pytest.mark.parametrize(
    ("slider", "keys", "held", "said"),
    [
        (slider_of(FRAME, 512, AT_MOST, values={"samples": 700}), ("right", "right", "end enter 4 k enter"), 700,
         "at most samples = 700: a frame fits"),
        (slider_of(SAMPLES, None, AT_MOST, values={"frame": 5_000}), ("home", "left"), 5_000,
         "at least frame = 5,000: a frame fits"),
        (slider_of(FRAME, 480, TILES, values={"tile": 48}), ("right left", "enter 5 0 0 enter"), 480,
         "a multiple of tile = 48"),
    ],
    ids=["at-most", "at-least", "multiple"],
)  # fmt: skip
async def test_a_bound_set_by_another_parameter_stops_the_slider_and_says_why(
    slider, keys, held, said
) -> None:
    async with bench(slider) as pilot:
        for some in keys:
            await press(pilot, some)
            assert slider.value == held
        assert said in shown(slider)
        if "multiple" in said:
            await press(pilot, "escape right")
            assert slider.value == 528, "arrows keep to multiples"


async def test_marks_and_the_crossover_are_visited_in_turn() -> None:
    slider = slider_of(SAMPLES, marks=(1_000, 100_000), crossover=18_300.4, band=(15_000, 22_000))
    async with bench(slider) as pilot:
        await press(pilot, "n n n N")
        assert [value for value, _ in pilot.app.said] == [18_300, 100_000, 1_000, 100_000]
        assert "┊" in shown(slider) and "•" in shown(slider)


async def test_dragging_follows_the_mouse_and_stops_at_a_bound_and_ends_final() -> None:
    slider = slider_of(SAMPLES)
    async with bench(slider) as pilot:
        said, start, end = pilot.app.said, shown(slider).index("┣") + 1, shown(slider).index("┫") - 1
        await pilot.mouse_down(Slider, offset=(start + 5, 0))
        await pilot.hover(Slider, offset=(start + 20, 0))
        await pilot.hover(Slider, offset=(end + 30, 2))
        assert slider.value == SAMPLES.high and not any(final for _, final in said)
        await pilot.mouse_up(Slider, offset=(end, 0))
        await pilot.pause()
        assert said[-1] == (SAMPLES.high, True) and len({value for value, _ in said}) >= 3
        await pilot.hover(Slider, offset=(start, 0))
        assert slider.value == SAMPLES.high
        small = reach(SAMPLES, [AtMost("samples", "room", "the room is small")], {"room": 1_000})
        slider.control = replace(slider.control, value=512, reach=small)
        await pilot.mouse_down(Slider, offset=(end, 0))
        await pilot.mouse_up(Slider, offset=(end, 0))
        await pilot.pause()
        assert slider.value == 1_000 and said[-1] == (1_000, True) and "the room is small" in shown(slider)


async def test_a_click_on_a_name_selects_it_and_one_on_the_value_edits_it() -> None:
    window, samples = slider_of(WINDOW), slider_of(SAMPLES)
    async with bench(window) as pilot:
        await pilot.click(Slider, offset=(shown(window).index("none") + 1, 0))
        assert window.value == "none"
    async with bench(samples) as pilot:
        await pilot.click(Slider, offset=(shown(samples).index("10,240"), 0))
        await press(pilot, "2 k enter")
        assert samples.value == 2_048


async def test_values_set_by_the_owner_send_no_message() -> None:
    slider = slider_of(SAMPLES)
    async with bench(slider) as pilot:
        slider.control = replace(slider.control, value=4_096, note="16 kB in")
        await pilot.pause()
        assert pilot.app.said == [] and "4,096" in shown(slider) and "16 kB in" in shown(slider)
        await press(pilot, "n")
        assert "gives no value" in shown(slider)
