"""Base classes of the pages above the main screen."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key
from textual.reactive import Reactive
from textual.screen import ModalScreen
from textual.widget import Widget

from tuilab.model.verdicts import VERDICTS
from tuilab.tui.keys import keys_here, spoken, unbound

if TYPE_CHECKING:
    from tuilab.presentation.pages import PageLine

Result = TypeVar("Result")
Panel = TypeVar("Panel", bound=Widget)

IN_THE_LAB = "This key works in the lab. First close this page: {page.close}."
BELOW = "This key works on the page below. First close this page: {page.close}."


def framed(panel: Panel, title: str, subtitle: str = "") -> Panel:
    """Put a panel in a frame with these titles, as plain text."""
    panel.add_class("frame")
    retitle(panel, title=title, subtitle=spoken(panel, subtitle))
    return panel


def retitle(panel: Widget, **titles: str) -> None:
    """Set the titles of a panel's frame, as plain text. Textual repaints the whole panel for each title that
    is set, so unchanged titles are skipped.
    """
    for name, text in titles.items():
        if (new := Content(text)).markup != getattr(panel, f"border_{name}"):
            setattr(panel, f"border_{name}", new)


class Modal(ModalScreen[Result], Generic[Result]):
    """A screen above another screen.

    Calls of `dismiss` while the screen is closing are ignored.
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "app.simulate_key('down')", "down", show=False, id="page.down"),
        Binding("k", "app.simulate_key('up')", "up", show=False, id="page.up"),
        Binding("question_mark,f1", "app.help", "help", show=False, id="page.help"),
    ]

    def on_key(self, event: Key) -> None:
        """Tell the user that a key of the lab, or of the page below, does nothing on this page."""
        below = self.app.screen_stack[-2]
        offered = below.active_bindings.get(event.key) if isinstance(below, Modal) else None
        if event.key not in self.active_bindings and offered and offered.enabled and offered.binding.show:
            self.notify(spoken(self, BELOW), markup=False)
        elif unbound(self, event.key):
            self.notify(spoken(self, IN_THE_LAB), markup=False)

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        if not self.is_active:
            return AwaitComplete()
        return super().dismiss(result)

    def entries(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        """Yield the entries of the command palette as (name, help, command): one entry for each key of this
        page.
        """
        for keys, words, action in keys_here(self):
            yield f"{words}  ({keys})", "", partial(self.run_action, action)


class Page(Modal[Result], Generic[Result]):
    """A page above a screen that remains visible, dimmed."""

    DEFAULT_CSS = """
    Page { align: center middle; background: $background 60%; }
    Page > .frame { width: 100; max-width: 96%; height: auto; max-height: 94%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "close", show=False, id="page.close")]

    def action_close(self) -> Any:
        self.dismiss(None)


STYLES = {
    "text": "",
    "title": "bold",
    "head": "$accent",
    "aside": "$primary",
    "muted": "$foreground-muted",
    **{word: f"$text-{look.tone} bold" for word, look in VERDICTS.items()},
}
"""Textual style for each kind of text on a page."""


def dressed(widget: Widget, page: "Iterable[PageLine]") -> Content:
    """Format the lines of a page. Names of actions in braces become the user's keys."""
    lines = (
        Content.assemble(*((spoken(widget, text), STYLES[role]) for text, role in line)) for line in page
    )
    return Content("\n").join(lines)
