"""Shows a letter on each widget that can have the focus. Typing a letter focuses its widget."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from tuilab.tui.screens.modal import Modal

LETTERS = "asdfjklghqweruiopzxcvbnmty"


class JumpScreen(Modal[Widget]):
    """Shows the letters above the current screen. Returns the chosen widget, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close", id="jump.close")]
    CSS = """
    JumpScreen { background: $background 0%; }
    JumpScreen Static {
        position: absolute; width: 3; height: 1; background: $accent; color: $background; text-style: bold;
        content-align: center middle;
    }
    """

    def __init__(self, places: Sequence[Widget]) -> None:
        super().__init__()
        self._places = dict(zip(LETTERS, places, strict=False))

    def compose(self) -> ComposeResult:
        for letter, widget in self._places.items():
            label = Static(letter, markup=False)
            label.styles.offset = widget.region.offset
            yield label

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self.dismiss(self._places.get(event.character or ""))

    def on_click(self) -> None:
        self.dismiss()
