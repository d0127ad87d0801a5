"""A page with a list of choices, and optionally with a text field."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.suggester import Suggester
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tuilab.lab.files import completed, completed_to_file
from tuilab.lab.offers import Offer
from tuilab.model.search import contains
from tuilab.tui.keys import spoken
from tuilab.tui.screens.modal import Page, framed
from tuilab.tui.widgets.line_input import LineInput
from tuilab.tui.widgets.wording import fit


class Items(OptionList):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "select", "choose", show=False, id="menu.choose"),
    ]

    def __init__(self, items: Sequence[Offer]) -> None:
        self._items = tuple(items)
        super().__init__(*self._draw_items(self._items), compact=True, markup=False)

    def find(self, words: str) -> None:
        """Show only the choices that contain all these words, and move the cursor to the first one."""
        found = [i for i in self._items if contains(f"{i.label} {i.detail}", words)]
        self.set_options(self._draw_items(found))
        self.highlighted = 0 if found else None

    def _draw_items(self, items: Sequence[Offer]) -> list[Option]:
        wide = min(40, max((cell_len(item.label) for item in items), default=0))
        return [Option(self._row(item, wide), item.key) for item in items]

    @staticmethod
    def _row(item: Offer, wide: int) -> Content:
        label = fit(item.label, max(wide, cell_len(item.label)))
        return Content.assemble(label, ("  " + item.detail, "$foreground-muted"))


class Paths(Suggester):
    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        return completed(value)


class PathInput(LineInput):
    """A text field for a path. Tab completes the path, as in a shell; if nothing can be completed, Tab
    moves the focus.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "complete", show=False, id="menu.complete"),
    ]

    def action_complete(self) -> None:
        if (whole := completed(self.value)) and whole != self.value:
            self.value, self.cursor_position = whole, len(whole)
        else:
            self.screen.focus_next()


class FindInput(LineInput):
    """A text field that filters the list above. The keys up and down move the cursor in that list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move('up')", "up", show=False, id="menu.up"),
        Binding("down", "move('down')", "down", show=False, id="menu.down"),
    ]

    def action_move(self, way: str) -> None:
        items = self.screen.query_one(Items)
        items.action_cursor_up() if way == "up" else items.action_cursor_down()


class MenuScreen(Page[str]):
    """A page with a list of choices. Returns the key of the chosen item, or the typed text, or None.

    typed: placeholder of the text field; "" for no text field. find: add a text field that filters the
    list. suggester: completes the typed text. begun: initial text of the text field, selected so that
    typing replaces it.
    """

    DEFAULT_CSS = """
    Items { height: auto; max-height: 16; background: transparent; }
    Items { text-wrap: nowrap; text-overflow: ellipsis; }
    Items:focus { background-tint: transparent; }
    MenuScreen Static { color: $text-muted; }
    MenuScreen Input { margin-top: 1; }
    """

    def __init__(
        self,
        title: str,
        items: Sequence[Offer] = (),
        *,
        typed: str = "",
        find: bool = False,
        empty: str = "Nothing here.",
        suggester: Suggester | None = None,
        begun: str = "",
    ) -> None:
        super().__init__()
        self._suggester, self._begun, self._find = suggester, begun, find and len(items) > 1
        self._title, self._items, self._typed, self._empty = title, tuple(items), typed, empty

    def compose(self) -> ComposeResult:
        does = "{menu.complete} completes, enter opens" if self._suggester else "enter chooses"
        does = f"typing filters, {does}" if self._find else does
        with framed(Container(), self._title, f"{does}, {{page.close}} closes"):
            yield Items(self._items) if self._items else Static(spoken(self, self._empty), markup=False)
            if self._typed:
                given = {"placeholder": self._typed, "suggester": self._suggester}
                line = PathInput if self._suggester else LineInput
                yield line(self._begun, select_on_focus=True, **given)
            elif self._find:
                yield FindInput(placeholder="part of a name")

    def on_mount(self) -> None:
        line_first = self._begun or self._suggester or not self._items
        for place in self.query(Input if self._find or (self._typed and line_first) else Items):
            place.focus()  # a page without choices and without a text field has neither widget
        if self._find:
            self.query_one(Items).highlighted = 0

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._find:
            self.query_one(Items).find(event.value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the typed text, or the suggested file if the text names no file.

        Ignores an empty text, unless the field had an initial text.
        """
        if self._find:
            self.query_one(Items).action_select()
        elif self._suggester and (whole := completed_to_file(event.value)):
            self.dismiss(whole)
        elif event.value.strip() or self._begun:
            self.dismiss(event.value.strip())
