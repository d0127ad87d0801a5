"""Jump labels: a letter on every place that can have the keys; typing it goes there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.widget import Widget
from textual.widgets import Static

from tuilab.tui.screens.modal import Modal

LETTERS = "asdfjklghqweruiopzxcvbnmty"


@dataclass(frozen=True)
class Place:
    """Where a label stands and what it leads to: a widget to focus, or an action of the screen."""

    at: Offset
    widget: Widget | None = None
    action: str = ""


class JumpScreen(Modal[Place | None]):
    """The screen stays visible under the letters. Returns the place that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "close", id="jump.close")]
    CSS = """
    JumpScreen { background: $background 0%; }
    JumpScreen Static {
        position: absolute; width: 3; height: 1; background: $accent; color: $background; text-style: bold;
        content-align: center middle;
    }
    """

    def __init__(self, places: Sequence[Place]) -> None:
        super().__init__()
        self._places = dict(zip(LETTERS, places, strict=False))

    def compose(self) -> ComposeResult:
        for letter, place in self._places.items():
            label = Static(letter, markup=False)
            label.styles.offset = (place.at.x, place.at.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        """Go to the place of that letter; any other key closes."""
        event.stop()
        event.prevent_default()
        self.dismiss(self._places.get(event.character or ""))

    def on_click(self, event: events.Click) -> None:
        """A click outside closes."""
        self.dismiss(None)
