"""Help where you are: what has the keys, what the picture shows, and which keys work."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar

from rich.columns import Columns
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Markdown, Static

from tuilab.tui.actions import GROUPS
from tuilab.tui.keys import keys_here, keys_of, worded
from tuilab.tui.panels.views import Views
from tuilab.tui.screens.modal import Modal, Page, framed

COLUMN = 22
OTHERS = "Other keys: a `keymap.toml` in your configuration folder, as the README shows."


class HelpScreen(Modal[None]):
    """A page over the screen; `?` or escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,q", "dismiss", "close", id="help.close"),
    ]
    CSS = """
    HelpScreen { align: center middle; background: $background 60%; }
    HelpScreen VerticalScroll { width: 88; max-width: 96%; height: 90%; padding: 0 1; }
    HelpScreen Markdown { background: transparent; margin: 0; padding: 0 1; }
    HelpScreen MarkdownH2 { color: $accent; text-style: bold; margin: 1 0; background: transparent; }
    HelpScreen MarkdownTableContent { keyline: none; }
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page

    def compose(self) -> ComposeResult:
        with framed(VerticalScroll(), "Help", "{page.close} closes"):
            yield Markdown(self._page)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()


class KeysScreen(Page[None]):
    """Every key on one page, in as many columns as there is room for."""

    DEFAULT_CSS = "KeysScreen > .frame { width: 98; max-width: 100%; max-height: 100%; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("K,q", "close", "close", show=False, id="keys.close"),
    ]

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        cells = []
        for group, actions in GROUPS.items():
            cells.append(Text(group, "bold underline"))
            for action in actions:
                keys = keys_of(action, self._keymap).replace(", ", " ")
                cells.append(Text.assemble((f"{keys:>5} ", "bold"), action.label))
        with framed(VerticalScroll(), "Keys", "{page.close} closes"):
            yield Static(Columns(cells, width=COLUMN, column_first=True))


def page(screen: Screen[Any], keymap: Mapping[str, str]) -> str:
    """What is written about what has the keys and about the open view, or the page; then tables of keys."""
    views = screen.query(Views)
    shown = views.first().view if views else screen
    about = dict.fromkeys([*islice(_about(screen.focused), 2), *islice(_about(shown), 1)])
    here = keys_here(screen.focused, None if views else screen)
    tables = {"key | does": [f"| {keys} | {words} |" for keys, words, _ in here]}
    for group, actions in GROUPS.items() if views else ():
        tables[f"{group} | "] = [f"| {keys_of(a, keymap)} | **{a.label}**: {a.help} |" for a in actions]
    written = ["\n".join([f"| {head} |", "|---|---|", *rows]) for head, rows in tables.items() if rows]
    return worded("\n\n".join([*about, "## Keys", *written, OTHERS]), keymap)


def _about(widget: Widget | None) -> Iterator[str]:
    """What is written about it and about what it lies in, from the inside out."""
    for node in widget.ancestors_with_self if widget is not None else ():
        if isinstance(node, Widget) and node.HELP:
            yield node.HELP.strip()
