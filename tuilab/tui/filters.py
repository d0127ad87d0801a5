"""Converts the screen's lines for terminals without colors or with ASCII only."""

from functools import lru_cache

from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

TABLE = str.maketrans(
    "µ×…–—−·≈≠≤≥±→↓←↑°‘’“”✓✗⊘☑☐⚑⚠"  # punctuation and symbols
    "╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝─│━┃║═▔▕▐▀⭘▼▶⏸"  # Textual's borders and scroll bars, and the replay symbols
    "●○◉•◆▲□▽■◇△"  # markers
    "┣┫╌┄┊▸▾▴▏▎▍▌▋▊▉█▇▆▅▄▃▂▁▓▒░▚▞◌▤▙",  # tracks, bars and fills
    "ux~---|~!<>+>v<^o''\"\"YNXx-!!+++++++++++++++++-|=||~-||#ov>=Oo@.$^#v@%&[].-|>v^|||||###%*+=-:.%=:/\\0~&",
)
RAISED = (38, 225)
"""Limits of luminance: a background stands out above the first limit in a dark theme, and below the second
limit in a light theme.
"""


def asciify(text: str) -> str:
    """Return the text in ASCII, with the same width in cells."""
    if text.isascii():
        return text
    # The replacement `+-` needs two cells, so it also replaces the space after `±`.
    text = text.replace("± ", "+-")
    plain = "".join(c if c.isascii() else "?" * cell_len(c) for c in text.translate(TABLE))
    # Code points that form a single glyph, such as a family emoji, are wider when drawn separately.
    return plain[: cell_len(text)].ljust(cell_len(text), "?")


class Ascii(LineFilter):
    """Replaces each non-ASCII character with a similar ASCII character of the same width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(asciify(segment.text), *segment[1:]) for segment in segments]


LIGHT = 0.5
"""A brighter background belongs to a light theme."""
BAND = "band"
"""Key in a style's `meta` that marks the background as an interval's band (not a cursor or a fill)."""
BAND_FILL = "░"
"""Fills the blank cells of a band in a terminal without colors."""


class Colourless(LineFilter):
    """Removes all colors, as NO_COLOR requires. (Textual's own filter converts colors to grays.)

    Reverses text on a background that stands out, so that the cursor and the focus remain visible. Fills the
    band of an interval with dots.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        light = background.brightness > LIGHT
        return [
            Segment(_dotted(segment.text, segment.style), colourless(segment.style, light), segment.control)
            if segment.style is not None
            else segment
            for segment in segments
        ]


def _dotted(text: str, style: Style) -> str:
    return text.replace(" ", BAND_FILL) if style.meta.get(BAND) else text


ASCII, COLOURLESS = Ascii(), Colourless()


@lru_cache(16_384)
def colourless(style: Style, light: bool) -> Style:
    """Return the style without colors, reversed if the background stands out and is not a band.

    light: True if the widget's background is light. Only blank cells without a text color need it.
    """
    if style.meta.get(BAND):
        return style.without_color
    text, ground = (0, 255) if light else (255, 0)
    ground = _grey(style.bgcolor, ground)
    raised = ground < RAISED[1] if _grey(style.color, text) < ground else ground >= RAISED[0]
    return style.without_color + Style(reverse=True) if raised else style.without_color


def _grey(color: RichColor | None, otherwise: int) -> int:
    """Return the luminance of a color from 0 to 255, by Rec. 601."""
    if color is None or color.is_default:
        return otherwise
    red, green, blue = color.get_truecolor()
    return round(0.299 * red + 0.587 * green + 0.114 * blue)
