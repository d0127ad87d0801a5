"""What every line of the screen passes on its way to a terminal that has less: no colour, or ASCII alone."""

from functools import lru_cache

from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

TABLE = str.maketrans(
    "µ×…–—−·≈≠≤≥±→↓°‘’“”✓✗⊘☑☐⚑⚠"  # words and signs
    "╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝─│━┃║═▔▕▐▀⭘▼▶⏸"  # what Textual draws, and a player
    "●○◉•◆▲□▽■◇△"  # markers
    "┣┫╌┄┊▸▾▴▏▎▍▌▋▊▉█▇▆▅▄▃▂▁▓▒░▚▞◌▤",  # tracks, bars and fills
    "ux~---|~!<>+>vo''\"\"YNXx-!!+++++++++++++++++-|=||~-||#ov>=Oo@.$^#v@%&[]..|>v^|||||###%*+=-:.%=:/\\0~",
)
"""What stands for each character that drawings are made of."""
RAISED = (38, 225)
"""Greys of a ground that stands out of a dark theme, from there on, and of a light one, below."""


def asciify(text: str) -> str:
    """Return the text in ASCII, in as many cells."""
    if text.isascii():
        return text
    # The blank behind the sign gives it the second cell that it needs.
    text = text.replace("± ", "+-")
    plain = "".join(c if c.isascii() else "?" * cell_len(c) for c in text.translate(TABLE))
    # Characters that are one sign together, such as a family, take other cells than each by itself.
    return plain[: cell_len(text)].ljust(cell_len(text), "?")


class Ascii(LineFilter):
    """Replaces every character that is not ASCII by one that is like it, cell for cell."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments in ASCII."""
        return [Segment(asciify(segment.text), *segment[1:]) for segment in segments]


class Colourless(LineFilter):
    """Takes every colour away, which is what NO_COLOR asks for; Textual's own filter sends greys.

    What stands on a ground of its own is reversed, so that a cursor and a focus still show.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without colours."""
        return [
            Segment(segment.text, colourless(segment.style), segment.control)
            if segment.style is not None
            else segment
            for segment in segments
        ]


ASCII, COLOURLESS = Ascii(), Colourless()


@lru_cache(16_384)
def colourless(style: Style) -> Style:
    """Return the style without colours, reversed where its ground stands out."""
    ground = _grey(style.bgcolor, 0)
    raised = ground < RAISED[1] if _grey(style.color, 255) < ground else ground >= RAISED[0]
    return style.without_color + Style(reverse=True) if raised else style.without_color


def _grey(color: RichColor | None, otherwise: int) -> int:
    """How light a colour is, from 0 to 255, by Rec. 601."""
    if color is None or color.is_default:
        return otherwise
    red, green, blue = color.get_truecolor()
    return round(0.299 * red + 0.587 * green + 0.114 * blue)
