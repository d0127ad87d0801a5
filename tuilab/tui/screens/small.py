"""Which layout fits which size of the terminal, and what is said when none does."""

from collections.abc import Sequence

from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import Line

SMALLEST = (60, 16)
NARROW, WIDE = 110, 160
SHORT, MEDIUM, VAST = 30, 36, 52
"""From these widths and heights on: presets beside the picture, a wider list; controls in full, the placement
log under them, a longer one."""

SIZES = frozenset({"-narrow", "-wide", "-short", "-medium", "-vast", "-tiny"})


def size_classes(width: int, height: int) -> frozenset[str]:
    """The classes that the style sheet knows for a terminal of this size."""
    out = set()
    if width < SMALLEST[0] or height < SMALLEST[1]:
        out.add("-tiny")
    if width < NARROW:
        out.add("-narrow")
    elif width >= WIDE:
        out.add("-wide")
    if height < SHORT:
        out.add("-short")
    elif height < MEDIUM:
        out.add("-medium")
    elif height >= VAST:
        out.add("-vast")
    return frozenset(out)


class Small(LineWidget):
    """Says that the terminal is too small, and how large it must be."""

    DEFAULT_CSS = "Small { display: none; width: 1fr; height: 1fr; }"

    def __init__(self) -> None:
        super().__init__(id="small")

    def paint(self, width: int, height: int) -> Sequence[Line]:
        need = f"{SMALLEST[0]} × {SMALLEST[1]}"
        if self.glyphs.ascii:
            need = need.replace("×", "x")
        size = self.app.size
        times = "x" if self.glyphs.ascii else "×"
        text = f"tuilab needs {need} characters; this terminal has {size.width} {times} {size.height}."
        return self.empty_lines(width, height, f"{text} Runs continue. q quits.")
