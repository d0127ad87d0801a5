"""Fits text into cells by cutting or wrapping it."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from tuilab.model.quantity import HELD, keep_on_line
from tuilab.model.sanitize import sanitize_line
from tuilab.tui.widgets.look import Run


def fit(text: str, width: int, align: str = "left") -> str:
    """Return the text in exactly `width` cells. Text that is too long ends with an ellipsis."""
    if width <= 0:
        return ""
    if not text.isprintable():
        # put text of several lines on one line
        text = sanitize_line(text)
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…"
    pad = " " * (width - length)
    return pad + text if align == "right" else text + pad


def wrap(text: str, width: int) -> list[str]:
    """Wrap a text into lines of at most `width` cells, between words if possible.

    A figure and its unit stay on the same line, and so do the parts of an interval.
    """
    lines = Content(keep_on_line(" ".join(text.split()))).wrap(max(1, width))
    return [line.plain.strip().replace(HELD, " ") for line in lines if line.plain.strip()]


def clip(text: str, width: int, lines: int) -> list[str]:
    """Wrap a text into at most `lines` lines. A longer text is cut after a word."""
    wrapped = wrap(text, width)
    if len(wrapped) <= lines:
        return wrapped
    return [*wrapped[: lines - 1], whole_words(" ".join(wrapped[lines - 1 :]), width)]


def whole_words(text: str, width: int) -> str:
    """Cut a text that is too long, if possible after a word, because a cut inside a number would change the
    number.
    """
    if cell_len(text) <= width:
        return text
    text = keep_on_line(text)
    kept = set_cell_size(text, max(0, width - 1))
    if not text.startswith(kept + " ") and " " in kept.strip():
        kept = kept.rpartition(" ")[0]
    return kept.rstrip(" ,;:([").replace(HELD, " ") + "…"


def width_of(line: Sequence[Run]) -> int:
    return sum(cell_len(text) for text, _ in line)
