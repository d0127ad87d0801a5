"""Text in cells, cut or wrapped. Pure."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from tuilab.model.sanitize import sanitize_line
from tuilab.tui.widgets.look import Run


def fit(text: str, width: int, align: str = "left") -> str:
    """`text` in exactly `width` cells, cut with an ellipsis where it is too long."""
    if width <= 0:
        return ""
    if not text.isprintable():
        # A text of several lines, cleaned at the door, in a place that has one.
        text = sanitize_line(text)
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…"
    pad = " " * (width - length)
    return pad + text if align == "right" else text + pad


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` cells, broken between words where that is possible."""
    lines, line = [], ""
    for word in text.split():
        while cell_len(word) > width:
            room = width - cell_len(line) - bool(line)
            if room < 1:
                lines.append(line)
                line = ""
                continue
            head = set_cell_size(word, room).rstrip()
            if not head:
                # A wide character does not fit into one cell: begin a line for it.
                head, room = word[:1], 0
            if line and room == 0:
                lines.append(line)
                line = ""
            lines.append(f"{line} {head}" if line else head)
            word, line = word[len(head) :], ""
        if line and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line = word
        elif word:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def clip(text: str, width: int, lines: int) -> list[str]:
    """`text` wrapped in at most so many lines, the last one cut with an ellipsis where there is more."""
    wrapped = wrap(text, width)
    if len(wrapped) <= lines:
        return wrapped
    return [*wrapped[: lines - 1], fit(" ".join(wrapped[lines - 1 :]), width)]


def width_of(line: Sequence[Run]) -> int:
    """Cells that the line takes."""
    return sum(cell_len(text) for text, _ in line)
