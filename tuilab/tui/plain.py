"""ASCII alone, for terminals that have no more: whatever a widget draws passes here."""

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tuilab.tui.widgets.wording import asciify

BORDERS = str.maketrans(
    "╭╮╰╯┌┐└┘├┤┬┴┼─│━┃║═╔╗╚╝▔▁▎▊▏▕▄▀▌▐█▇▆▅▃▂⭘▼▶●○◉",
    "+++++++++++++-|=||=++++-_||||##||#####_ov>*o*",
)


class Ascii(LineFilter):
    """Replaces every character that is not ASCII by one that is like it, cell for cell."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments in ASCII."""
        return [
            segment
            if segment.text.isascii()
            else Segment(asciify(segment.text.translate(BORDERS)), *segment[1:])
            for segment in segments
        ]
