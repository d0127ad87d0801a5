"""A short list to choose from, and a line to type into where the choice needs one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widgets import Input

from tuilab.tui.screens.modal import Page
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, MUTED, TEXT, Line, TextStyle
from tuilab.tui.widgets.wording import fit

ROWS = 16


@dataclass(frozen=True)
class Item:
    """key: what is returned. detail: muted, behind the label."""

    key: str
    label: str
    detail: str = ""


class Items(LineWidget, can_focus=True):
    """The list. `Chosen` when one is picked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False, id="menu.up"),
        Binding("down,j", "move(1)", "down", show=False, id="menu.down"),
        Binding("enter,space", "choose", "choose", show=False, id="menu.choose"),
    ]

    class Chosen(Message):
        """This item was picked."""

        def __init__(self, item: Item) -> None:
            super().__init__()
            self.item = item

    def __init__(self, items: Sequence[Item], empty: str) -> None:
        super().__init__(empty=empty)
        self._items = tuple(items)
        self._cursor = 0

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self._items:
            return self.empty_lines(width, height)
        top = max(0, self._cursor - height + 1)
        column = min(max(len(i.label) for i in self._items), max(12, width // 2))
        return [self._line(i, width, column) for i in range(top, min(len(self._items), top + height))]

    def _line(self, index: int, width: int, column: int) -> Line:
        item, here, dots = self._items[index], index == self._cursor, self.glyphs.ellipsis
        ground = "accent/22" if here else ""
        return (
            (self.glyphs.focus if here else " ", ACCENT),
            (" ", TEXT),
            (fit(item.label, column, ellipsis=dots), TextStyle("text", bold=here, on=ground)),
            (fit("  " + item.detail, width - column - 2, ellipsis=dots), TextStyle(MUTED.name, on=ground)),
        )

    def action_move(self, by: int) -> None:
        """Up or down."""
        self._cursor = min(len(self._items) - 1, max(0, self._cursor + by))
        self.repaint()

    def action_choose(self) -> None:
        """Take the item under the cursor."""
        if self._items:
            self.post_message(self.Chosen(self._items[self._cursor]))

    def on_click(self, event: events.Click) -> None:
        """Take what was clicked on."""
        index = event.y + max(0, self._cursor - self.size.height + 1)
        if index < len(self._items):
            self._cursor = index
            self.action_choose()


class MenuScreen(Page[str]):
    """Returns the key of what was chosen, or the text that was typed; None when it was closed.

    typed: what the line is for; "" for no line.
    """

    DEFAULT_CSS = """
    MenuScreen Items { height: 3; }
    MenuScreen Input { border: none; height: 1; background: $panel; margin-top: 1; }
    MenuScreen Input:focus { border: none; }
    """

    def __init__(
        self, title: str, items: Sequence[Item], *, typed: str = "", empty: str = "Nothing here."
    ) -> None:
        super().__init__()
        self._title, self._items, self._typed, self._empty = title, tuple(items), typed, empty

    def compose(self) -> ComposeResult:
        with Container(classes="frame") as box:
            box.border_title = self._title
            box.border_subtitle = "enter chooses, esc closes"
            items = Items(self._items, self._empty)
            items.styles.height = max(3, min(ROWS, len(self._items)))
            yield items
            if self._typed:
                line = Input(placeholder=self._typed, compact=True)
                line.cursor_blink = False
                yield line

    def on_mount(self) -> None:
        super().on_mount()
        (self.query_one(Items) if self._items or not self._typed else self.query_one(Input)).focus()

    def on_items_chosen(self, event: Items.Chosen) -> None:
        """Done."""
        self.dismiss(event.item.key)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Done, with what was typed."""
        if event.value.strip():
            self.dismiss(event.value.strip())
