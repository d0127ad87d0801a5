"""The last line: the keys that matter here, as many as there is room for."""

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events

from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, MUTED, TEXT, Line, Run

LAST = 2


class Keys(LineWidget):
    """One line of keys and what they do; a click does it too."""

    DEFAULT_CSS = "Keys { height: 1; dock: bottom; }"

    HELP = """\
## The key line

The keys of this screen. `^p` lists every action with its key; `?` says what you are looking at.
"""

    def __init__(self) -> None:
        super().__init__(id="keys")
        self._items: tuple[tuple[str, str, str], ...] = ()
        self._places: list[tuple[int, int, str]] = []

    def show(self, items: Sequence[tuple[str, str, str]]) -> None:
        """(key, word, action) in order of importance; the last two stand at the right, always."""
        self._items = tuple(items)
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        last = self._items[-LAST:]
        room = width - sum(self._width(item) for item in last) - 1
        line: list[Run] = []
        self._places = []
        at = 0
        for item in self._items[:-LAST]:
            if at + self._width(item) > room:
                break
            at = self._put(line, item, at)
        line.append((" " * max(0, room - at), TEXT))
        at = max(at, room)
        for item in last:
            at = self._put(line, item, at)
        return [tuple(line)]

    def _width(self, item: tuple[str, str, str]) -> int:
        return cell_len(item[0]) + cell_len(item[1]) + 3

    def _put(self, line: list[Run], item: tuple[str, str, str], at: int) -> int:
        key, word, action = item
        line += [(" ", TEXT), (key, ACCENT), (" ", TEXT), (word, MUTED), (" ", TEXT)]
        self._places.append((at, at + self._width(item), action))
        return at + self._width(item)

    async def on_click(self, event: events.Click) -> None:
        """Do what stands where the mouse is."""
        for first, behind, action in self._places:
            if first <= event.x < behind:
                await self.screen.run_action(action)
                return
