"""What is sent is less, and the terminal shows the same."""

import io

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import _compositor
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.strip import Strip

from tuilab.model.parameters import LogInteger
from tuilab.tui.widgets.quiet import NarrowUpdate, Pen, QuietScreen, WholeUpdate, send_less
from tuilab.tui.widgets.slider import Slider

COLOURS = st.sampled_from([None, "#102030", "#e0e0e0", "red", "default"])
FLAGS = st.sampled_from([None, True])
STYLES = st.builds(Style, color=COLOURS, bgcolor=COLOURS, bold=FLAGS, reverse=FLAGS)
SEGMENTS = st.lists(
    st.tuples(st.text("ab ×", min_size=1, max_size=6), st.one_of(st.none(), STYLES)).map(
        lambda s: Segment(*s)
    ),
    max_size=8,
)
WIDTH, HEIGHT = 40, 4


def console(system: str) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, color_system=system)  # type: ignore[arg-type]


def drawn(*texts: str) -> list:
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(screen)
    for text in texts:
        stream.feed(text)
    cells = [[screen.buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]
    # The colour of a blank that is not reversed cannot be seen.
    return [[c._replace(fg="") if c.data == " " and not c.reverse else c for c in row] for row in cells]


@settings(max_examples=40, deadline=None)
@given(st.lists(SEGMENTS, min_size=1, max_size=HEIGHT), st.sampled_from(["truecolor", "256", "standard"]))
def test_a_whole_update_draws_the_same(lines, system):
    strips = [[Strip(line).crop(0, WIDTH - 1)] for line in lines]
    region, to = Region(0, 0, WIDTH, HEIGHT), console(system)
    old, new = (kind(strips, region).render_segments(to) for kind in (LayoutUpdate, WholeUpdate))
    assert drawn(new) == drawn(old.replace("\n", ""))


@settings(max_examples=40, deadline=None)
@given(SEGMENTS, SEGMENTS, st.integers(0, WIDTH - 2), st.integers(1, WIDTH))
def test_a_partial_update_draws_the_same_from_the_first_changed_column(before, after, first, length):
    last = min(WIDTH - 1, first + length)
    to = console("truecolor")
    one, two = (Strip(line).adjust_cell_length(WIDTH - 1) for line in (before, after))
    start = WholeUpdate([[one]], Region(0, 0, WIDTH, 1)).render_segments(to)
    # The change lies between the columns; outside them both lines are the same.
    two = Strip.join([one.crop(0, first), two.crop(first, last), one.crop(last, WIDTH - 1)])
    updates = [
        kind([{0: two}], [(0, first, last)], [[WIDTH - 1]]).render_segments(to)
        for kind in (ChopsUpdate, NarrowUpdate)
    ]
    assert drawn(start, updates[0]) == drawn(start, updates[1])
    assert len(updates[1]) <= len(updates[0]) + 8


def test_the_same_colours_are_sent_once():
    style = Style.parse("#112233 on #445566")
    strips = [
        [Strip([Segment("a", style), Segment("b", style + Style(color="#aabbcc")), Segment("c", style)])]
    ]
    sent = WholeUpdate(strips, Region(0, 0, 3, 1)).render_segments(console("truecolor"))
    assert sent.count("48;2;68;85;102") == 1 and sent.count("38;2;17;34;51") == 2
    assert sent.endswith("c\x1b[0m")


def test_a_link_keeps_its_escape_sequence():
    strips = [[Strip([Segment("here", Style(link="https://example.org"))])]]
    sent = WholeUpdate(strips, Region(0, 0, 4, 1)).render_segments(console("truecolor"))
    assert "\x1b]8;" in sent and "https://example.org" in sent


class Two(App[None]):
    """Two sliders."""

    def get_default_screen(self) -> QuietScreen:
        return QuietScreen()

    def compose(self) -> ComposeResult:
        for name in ("one", "two"):
            yield Slider(LogInteger(name=name, label=name, help="", default=4, low=1, high=64), id=name)


async def test_a_move_of_the_focus_repaints_two_widgets_and_not_the_screen(monkeypatch):
    monkeypatch.setattr(_compositor, "ChopsUpdate", _compositor.ChopsUpdate)
    monkeypatch.setattr(_compositor, "LayoutUpdate", _compositor.LayoutUpdate)
    send_less()
    assert _compositor.ChopsUpdate is NarrowUpdate
    areas = []
    original = _compositor.Compositor.render_update
    monkeypatch.setattr(
        _compositor.Compositor,
        "render_update",
        lambda self, *a, **k: (
            areas.append(sum(r.area for r in self._dirty_regions)),
            original(self, *a, **k),
        )[1],
    )
    app = Two()
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        areas.clear()
        await pilot.press("tab")
        await pilot.pause()
        assert app.focused is app.query_one("#two")
        assert 0 < sum(areas) <= 4 * 80
        assert app.query_one("#two", Slider).render_line(0).text.startswith("▸two")
        assert app.query_one("#one", Slider).render_line(0).text.startswith(" one")


@pytest.mark.parametrize("system", list(ColorSystem))
def test_every_colour_system_is_known(system):
    from tuilab.tui.widgets.quiet import _codes

    attributes, color, ground = _codes(Style.parse("bold red on blue"), system)
    assert attributes == "1" and color and ground


def test_the_pen_writes_no_character_that_a_terminal_acts_on():
    pen = Pen(Console(color_system="truecolor"))
    pen.write([Segment("a\x1b]52;c;aGk=\x07b\x9b2Jc\u202ed\ne\ud800", Style.parse("bold"))])
    assert pen.finish() == "\x1b[0;1mabcde\x1b[0m"


def test_a_cell_has_no_line_breaks():
    from tuilab.tui.widgets.wording import fit

    assert fit("a\nb\tc", 8) == "a b    c" and fit("x\ny", 2) == "x…"
