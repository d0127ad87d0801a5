"""A widget for sentences with figures, above or below a plot."""

from collections.abc import Sequence

from tuilab.tui.widgets.answer import numbers_strong
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import Line
from tuilab.tui.widgets.wording import whole_words


class Sentences(LineWidget):
    DEFAULT_CSS = "Sentences { height: 0; }"

    def __init__(self) -> None:
        super().__init__()
        self._said: tuple[str, ...] = ()

    def show(self, lines: Sequence[str]) -> None:
        if tuple(lines) != self._said:
            self._said = tuple(lines)
            self.styles.height = min(4, len(lines))
            self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        return [tuple(numbers_strong(whole_words(line, width))) for line in self._said[:height]]
