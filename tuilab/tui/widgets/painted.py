"""The base of the widgets that draw themselves: paint lines, send only what differs."""

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip

from tuilab.model.sanitize import sanitize_line
from tuilab.tui.widgets.inked import Inked
from tuilab.tui.widgets.look import MUTED, TEXT, Ink, Line
from tuilab.tui.widgets.wording import asciify, wrap


class Painted(Inked):
    """A widget whose content is `paint(width, height)`: lines of (text, ink).

    `repaint` is called when the data changed. The lines are then painted once, however often it was called,
    compared with those on the screen, and only the columns that differ are sent. A hidden widget only
    remembers that it must paint.
    """

    empty: reactive[str] = reactive("", layout=False)

    def __init__(
        self, *, empty: str = "", name: str | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.set_reactive(Painted.empty, empty)
        self._lines: Sequence[Line] | None = None
        self._painted_size = (0, 0)
        self._pending = False

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """The lines of the content: at most `height` of them, each of at most `width` cells."""
        raise NotImplementedError

    def repaint(self) -> None:
        """Say that the data changed."""
        if not self._pending and self.is_attached:
            self._pending = True
            self.call_later(self._repaint)

    def forget(self) -> None:
        self._lines = None

    def watch_empty(self) -> None:
        self.repaint()

    def on_focus(self) -> None:
        self.repaint()

    def on_blur(self) -> None:
        self.repaint()

    def on_show(self) -> None:
        if self._lines is None:
            self.refresh()

    def _repaint(self) -> None:
        self._pending = False
        old, size = self._lines, (self.size.width, self.size.height)
        if old is None or size != self._painted_size or not self.is_on_screen:
            self._lines = None
            self.refresh()
            return
        new = self._lines = self._safely(*size)
        blank: Line = ()
        regions = [
            Region(span[0], y, span[1] - span[0], 1)
            for y, (before, after) in enumerate(zip_longest(old, new, fillvalue=blank))
            if before != after and (span := changed_columns(before, after))
        ]
        if regions:
            self.refresh(*regions)

    def _safely(self, width: int, height: int) -> Sequence[Line]:
        """The lines, without any character that a terminal would act on, however it came there."""
        return [
            line
            if all(text.isprintable() for text, _ in line)
            else tuple((sanitize_line(t), ink) for t, ink in line)
            for line in self.paint(width, height)[:height]
        ]

    def render_line(self, y: int) -> Strip:
        """One line of the content as Textual shows it."""
        width, height = self.size
        if self._lines is None or self._painted_size != (width, height):
            self._painted_size = (width, height)
            self._lines = self._safely(width, height)
        line: Line = self._lines[y] if y < len(self._lines) else ()
        if self.glyphs.ascii:
            line = tuple((asciify(text), ink) for text, ink in line)
        segments = [Segment(text, self.style_of(ink)) for text, ink in line]
        return Strip(segments).simplify().adjust_cell_length(width, self.rich_style)

    def empty_lines(self, width: int, height: int, sentence: str = "") -> Sequence[Line]:
        """The sentence that says why there is nothing here, wrapped and centred."""
        text = wrap(sentence or self.empty, max(1, min(width - 2, 72)))[:height]
        top = max(0, (height - len(text)) // 2)
        body = [((" " * max(0, (width - cell_len(line)) // 2) + line, MUTED),) for line in text]
        return [*([()] * top), *body]


def changed_columns(before: Line, after: Line) -> tuple[int, int] | None:
    """First column and the one behind the last that differ, None where the lines look the same."""
    old, new = _cells(before), _cells(after)
    length = max(len(old), len(new))
    blank = (" ", TEXT)
    old += [blank] * (length - len(old))
    new += [blank] * (length - len(new))
    first = next((i for i in range(length) if old[i] != new[i]), None)
    if first is None:
        return None
    last = next(i for i in range(length - 1, -1, -1) if old[i] != new[i])
    return first, last + 1


def _cells(line: Line) -> list[tuple[str, Ink]]:
    """One entry a cell; the second cell of a wide character is an empty string."""
    out: list[tuple[str, Ink]] = []
    for text, ink in line:
        if text.isascii():
            out += [(character, ink) for character in text]
            continue
        for character in text:
            width = cell_len(character)
            if width == 0 and out:
                out[-1] = (out[-1][0] + character, out[-1][1])
            else:
                out += [(character, ink)] + [("", ink)] * (width - 1)
    return out
