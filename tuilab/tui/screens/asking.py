"""A page that asks for text."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import TextArea

from tuilab.tui.screens.modal import Page, framed


class NoteScreen(Page[str]):
    """A text field of several lines. Returns the text, or None if the user cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "keep", "keep", show=False, priority=True, id="note.keep"),
        Binding("escape", "close", "cancel", show=False, priority=True, id="note.close"),
    ]
    DEFAULT_CSS = """
    NoteScreen TextArea { border: none; height: 10; max-height: 60vh; background: $panel; padding: 0 1; }
    NoteScreen TextArea:focus { border: none; }
    """

    def __init__(self, title: str, note: str) -> None:
        super().__init__()
        self._title, self._note = title, note

    def compose(self) -> ComposeResult:
        with framed(Container(), self._title, "{note.keep} saves, {note.close} cancels"):
            area = TextArea(self._note, soft_wrap=True, highlight_cursor_line=False)
            area.cursor_blink = False
            yield area

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()

    def action_keep(self) -> None:
        self.dismiss(self.query_one(TextArea).text)
