"""Readable colors in both themes, distinct markers, and text that fits its cells."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from textual.color import Color

from tests.tui.data import ARMS
from tests.tui.widgets.bench import bench
from tuilab.model.arms import Arm
from tuilab.tui.filters import BAND_FILL, COLOURLESS, asciify
from tuilab.tui.themes import DARK, LIGHT
from tuilab.tui.widgets.line_widget import of_256
from tuilab.tui.widgets.look import (
    DARK_HUES,
    MARKERS,
    PHASES,
    RULE,
    TextStyle,
    contrast,
    hue_color,
    marks_for,
    readable,
)
from tuilab.tui.widgets.phases import KNOWN
from tuilab.tui.widgets.plot import BAND, COLUMN, Plot
from tuilab.tui.widgets.timeline import FILL, HUES
from tuilab.tui.widgets.wording import clip, fit, wrap

WIDE = st.text("ab 日é—", max_size=80)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("hue", DARK_HUES)
def test_every_hue_contrasts_with_both_backgrounds(theme, hue):
    for ground in (theme.background, theme.surface):
        assert contrast(Color.parse(hue_color(hue, theme.dark)), Color.parse(ground)) >= 3.0


def test_a_colour_too_close_to_its_background_is_adjusted():
    ground, text = Color.parse("#ffffff"), Color.parse("#000000")
    moved = readable(Color.parse("#ffee88"), ground, text)
    assert contrast(moved, ground) >= 3.0
    assert readable(text, ground, text) == text


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("hue", [*(h for h in DARK_HUES if h[:3] in ("cpu", "gpu")), "warn"])
def test_a_band_is_visible_in_256_colours_and_hides_no_line(theme, hue):
    ground = Color.parse(theme.background)
    own = Color.parse(theme.warning if hue == "warn" else hue_color(hue, theme.dark))
    for share in (BAND, COLUMN.partition("/")[2]):
        blend = ground.blend(own, int(share.strip("/")) / 100, alpha=1.0)
        sent, band = of_256(blend, faint=True)
        shown = sent.rich_color.downgrade(ColorSystem.EIGHT_BIT)
        assert shown.get_truecolor() == band.rgb
        assert shown.number != ground.rich_color.downgrade(ColorSystem.EIGHT_BIT).number
        assert contrast(readable(own, band, Color.parse(theme.foreground)), band) >= 3.0


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_phases_of_the_timeline_differ_in_256_colours(theme):
    for ground in map(Color.parse, (theme.background, theme.surface)):
        fills = [
            ground.blend(Color.parse(hue_color(hue, theme.dark)), FILL / 100, alpha=1.0)
            for hue in HUES.values()
        ]
        shown = {fill.rich_color.downgrade(ColorSystem.EIGHT_BIT).number for fill in fills}
        assert len(shown) == len(HUES)


def test_a_phase_has_one_hue_in_every_view():
    drawn = {name: style.name for name, (style, _) in KNOWN.items()}
    assert {name: hue for name, hue in HUES.items() if name in drawn} == {
        name: drawn[name] for name in HUES if name in drawn
    }
    assert drawn["dispatch"] == HUES["dispatch"] == PHASES["dispatch"]


async def test_without_colours_a_band_is_dotted_and_a_cursor_reversed():
    widget = Plot()
    async with bench(widget, 20, 3):
        shown = {
            on: COLOURLESS.apply([Segment("a b", widget.style_of(TextStyle(on=on)))], Color.parse("black"))[0]
            for on in (f"cpu1{BAND}", COLUMN, "accent/22", "h2/70")
        }
    for on in (f"cpu1{BAND}", COLUMN):
        assert shown[on].text == f"a{BAND_FILL}b" and not shown[on].style.reverse
    for on in ("accent/22", "h2/70"):
        assert shown[on].text == "a b" and shown[on].style.reverse


def test_the_hue_identifies_the_device_and_markers_differ():
    marks = marks_for(ARMS)
    assert len({mark.marker for mark in marks.values()}) == len(ARMS)
    assert {mark.hue[:3] for arm, mark in marks.items() if arm.startswith("gpu")} == {"gpu"}
    assert marks[ARMS[4].id].hue == marks[ARMS[5].id].hue


def test_arms_with_equal_device_and_mode_get_hues_in_turn():
    arms = [Arm("CPU:0", "graph", variant=name) for name in ("serial", "parallel", "prefetched")]
    assert len({mark.hue for mark in marks_for(arms).values()}) == 3


def test_markers_are_one_cell_wide_and_have_their_own_ascii():
    assert all(cell_len(marker) == 1 for marker in MARKERS)
    assert len(set(map(asciify, MARKERS))) == len(MARKERS)
    assert asciify(RULE) not in map(asciify, MARKERS), "a median is not drawn as a row of markers"


@given(WIDE, st.integers(1, 40), st.sampled_from(["left", "right"]))
def test_fit_fills_exactly_its_cells(text, width, align):
    assert cell_len(fit(text, width, align)) == width


@given(WIDE, st.integers(2, 40))
def test_wrapping_loses_only_blanks(text, width):
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(one for one in lines)


@given(WIDE, st.integers(2, 40), st.integers(1, 4))
def test_clipping_marks_missing_text(text, width, lines):
    clipped = clip(text, width, lines)
    assert len(clipped) <= lines
    if len(wrap(text, width)) > lines:
        assert clipped[-1].endswith("…") or cell_len(clipped[-1]) <= width


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30))
@example("❤️ 👨‍👩‍👧")
def test_ascii_text_takes_equally_many_cells(text):
    assert asciify(text).isascii() and cell_len(asciify(text)) == cell_len(text)


def test_the_hues_differ_for_colour_blind_users():
    # The color vision of protans and deutans in linear RGB, from Viénot, Brettel and Mollon (1999).
    matrices = {
        "protan": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
        "deutan": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
    }

    def seen(color: str, matrix) -> list[float]:
        linear = [c**2.2 for c in Color.parse(color).normalized]
        return [max(0.0, sum(a * b for a, b in zip(row, linear, strict=True))) ** (1 / 2.2) for row in matrix]

    for dark, matrix in itertools.product((True, False), matrices.values()):
        cpu, gpu = (
            [seen(hue_color(f"{family}{i}", dark), matrix) for i in range(3)] for family in ("cpu", "gpu")
        )
        for one, other in itertools.product(cpu, gpu):
            # with this color vision, only blue and yellow differ
            assert (one[2] - one[0]) - (other[2] - other[0]) > 0.2


def test_each_arm_of_a_model_on_cpu_and_gpu_has_its_own_marker():
    where = [("CPU:0", "resident"), ("GPU:0", "resident"), ("GPU:0", "copied")]
    arms = [
        Arm(device, mode, held, variant=use)
        for device, held in where
        for mode in ("eager", "graph", "xla")
        for use in ("inference", "training")
    ]
    assert len({mark.marker for mark in marks_for(arms).values()}) == len(arms) == 18
