"""A short list to choose from, and a line to type into where the choice needs one."""

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
from tuilab.tui.keys import spoken
from tuilab.tui.screens.modal import Page, framed
from tuilab.tui.widgets.line_input import LineInput
from tuilab.tui.widgets.wording import fit


class Items(OptionList):
    """A list of items, each with its detail behind it, in columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "select", "choose", show=False, id="menu.choose"),
    ]

    def __init__(self, items: Sequence[Offer]) -> None:
        self._items = tuple(items)
        super().__init__(*self._drawn(self._items), compact=True, markup=False)

    def find(self, words: str) -> None:
        """List those alone that hold all the words, the first of them chosen."""
        wanted = words.lower().split()
        found = [i for i in self._items if all(word in f"{i.label} {i.detail}".lower() for word in wanted)]
        self.set_options(self._drawn(found))
        self.highlighted = 0 if found else None

    def _drawn(self, items: Sequence[Offer]) -> list[Option]:
        wide = min(40, max((cell_len(item.label) for item in items), default=0))
        return [Option(self._row(item, wide), item.key) for item in items]

    @staticmethod
    def _row(item: Offer, wide: int) -> Content:
        label = fit(item.label, max(wide, cell_len(item.label)))
        return Content.assemble(label, ("  " + item.detail, "$foreground-muted"))


class Paths(Suggester):
    """Completes a path."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """Complete the path; None where nothing begins so."""
        return completed(value)


class PathInput(LineInput):
    """A line for a path. Tab completes it, as in a shell, and leaves the line where it cannot."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "complete", show=False, id="menu.complete"),
    ]

    def action_complete(self) -> None:
        """Complete the path."""
        if (whole := completed(self.value)) and whole != self.value:
            self.value, self.cursor_position = whole, len(whole)
        else:
            self.screen.focus_next()


class FindInput(LineInput):
    """A line whose words shorten the list above it; up and down are the list's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move('up')", "up", show=False, id="menu.up"),
        Binding("down", "move('down')", "down", show=False, id="menu.down"),
    ]

    def action_move(self, way: str) -> None:
        """Move the list's cursor."""
        items = self.screen.query_one(Items)
        items.action_cursor_up() if way == "up" else items.action_cursor_down()


class MenuScreen(Page[str]):
    """Returns the key of what was chosen, or the text that was typed; None when it was closed.

    typed: what the line is for; "" for no line. find: a line shortens the list. suggester: completes what
    is typed. begun: what stands in the line already, selected: what is typed replaces it.
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
        does = f"typing finds, {does}" if self._find else does
        with framed(Container(), self._title, f"{does}, {{page.close}} closes"):
            yield Items(self._items) if self._items else Static(spoken(self, self._empty), markup=False)
            if self._typed:
                given = {"placeholder": self._typed, "suggester": self._suggester}
                line = PathInput if self._suggester else LineInput
                yield line(self._begun, select_on_focus=True, **given)
            elif self._find:
                yield FindInput(placeholder="a part of it")

    def on_mount(self) -> None:
        line_first = self._begun or self._suggester or not self._items
        for place in self.query(Input if self._find or (self._typed and line_first) else Items):
            place.focus()  # neither is there where nothing is to be chosen
        if self._find:
            self.query_one(Items).highlighted = 0

    def on_input_changed(self, event: Input.Changed) -> None:
        """List what holds these words."""
        if self._find:
            self.query_one(Items).find(event.value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the item that was chosen."""
        self.dismiss(event.option_id)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with what was typed, or with the file that is shown to complete it where that names none; an
        empty line counts only where it had begun with some text.
        """
        if self._find:
            self.query_one(Items).action_select()
        elif self._suggester and (whole := completed_to_file(event.value)):
            self.dismiss(whole)
        elif event.value.strip() or self._begun:
            self.dismiss(event.value.strip())
