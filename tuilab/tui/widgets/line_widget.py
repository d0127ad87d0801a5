"""The base of the widgets that draw themselves line by line."""

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip

from tuilab.model.sanitize import sanitize_line
from tuilab.tui.widgets.look import MUTED, Line
from tuilab.tui.widgets.themed_widget import ThemedWidget
from tuilab.tui.widgets.wording import wrap


class LineWidget(ThemedWidget):
    """A widget whose content is `paint(width, height)`: lines of (text, style).

    `repaint` says that the data changed. The lines are then painted once, however often it was called, and
    those that differ are sent. A hidden widget is painted when it shows.
    """

    empty: reactive[str] = reactive("", layout=False, repaint=False)

    def __init__(self, *, empty: str = "", id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.set_reactive(LineWidget.empty, empty)
        self._lines: Sequence[Line] | None = None
        self._painted_size = (0, 0)
        self._due = False

    def paint(self, width: int, height: int) -> Sequence[Line]:
        """The lines of the content: at most `height` of them, each of at most `width` cells."""
        raise NotImplementedError

    def repaint(self) -> None:
        """Say that the data changed."""
        if not self._due and self.is_attached:
            self._due = True
            self.call_later(self._repaint)

    def _repaint(self) -> None:
        self._due = False
        old, (width, height) = self._lines, self.size
        if old is None or (width, height) != self._painted_size or not self.is_on_screen:
            self.forget()
            self.refresh()
            return
        new = self._lines = self._safely(width, height)
        pairs = enumerate(zip_longest(old, new, fillvalue=()))
        if rows := [Region(0, y, width, 1) for y, (before, now) in pairs if before != now]:
            self.refresh(*rows)

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

    def _safely(self, width: int, height: int) -> Sequence[Line]:
        """The lines, without any character that a terminal would act on, however it came there."""
        return [
            line
            if all(text.isprintable() for text, _ in line)
            else tuple((sanitize_line(t), s) for t, s in line)
            for line in self.paint(width, height)[:height]
        ]

    def render_line(self, y: int) -> Strip:
        """One line of the content as Textual shows it."""
        width, height = self.size
        if self._lines is None or self._painted_size != (width, height):
            self._painted_size = (width, height)
            self._lines = self._safely(width, height)
        line: Line = self._lines[y] if y < len(self._lines) else ()
        segments = [Segment(text, self.style_of(style)) for text, style in line]
        return Strip(segments).simplify().adjust_cell_length(width, self.rich_style)

    def empty_lines(self, width: int, height: int, sentence: str = "") -> Sequence[Line]:
        """The sentence that says why there is nothing here, wrapped and centred."""
        text = wrap(sentence or self.empty, max(1, min(width - 2, 72)))[:height]
        top = max(0, (height - len(text)) // 2)
        body = [((" " * max(0, (width - cell_len(line)) // 2) + line, MUTED),) for line in text]
        return [*([()] * top), *body]
