"""Help where you are: what has the keys, what the picture shows, and which keys work."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Markdown

from tuilab.tui.actions import GROUPS, key_name
from tuilab.tui.actions import keys_of as keys_of_action
from tuilab.tui.screens.modal import Modal, TextPage, framed

SHEET_COLUMN = 23


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
        with framed(VerticalScroll(), "Help", "esc closes"):
            yield Markdown(self._page)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()


class KeysScreen(TextPage):
    """Every key on one page, in as many columns as there is room for."""

    DEFAULT_CSS = "KeysScreen > .frame { width: 98; max-width: 100%; max-height: 100%; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("K,q", "close", "close", show=False, id="keys.close"),
    ]

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__("Keys", "esc closes")
        self._keymap = keymap

    def on_mount(self) -> None:
        self.show(sheet(self._keymap, self.app.size.width - 8))


def sheet(keymap: Mapping[str, str], width: int) -> list[Content]:
    """Every action's keys and label under its group, in columns that fit into so many cells."""
    cells: list[Content] = []
    for group, actions in GROUPS.items():
        cells.append(Content.styled(group, "$accent bold"))
        for action in actions:
            keys = keys_of_action(action, keymap).replace(", ", " ")
            cells.append(Content.assemble((f"{keys:>5} ", "bold"), action.label))
    columns = max(1, min(4, width // SHEET_COLUMN))
    rows = -(-len(cells) // columns)
    lines = []
    for row in range(rows):
        parts = [cells[at] for at in range(row, len(cells), rows)]
        lines.append(
            Content("").join(part.pad_right(max(0, SHEET_COLUMN - part.cell_length)) for part in parts)
        )
    return lines


def page(keymap: Mapping[str, str], focused: Widget | None, shown: Widget | None) -> str:
    """What is written about the widget that has the keys and about the open view, then the table of keys."""
    parts = list(dict.fromkeys([*islice(_about(focused), 2), *islice(_about(shown), 1)]))
    return "\n\n".join([*parts, *_keys_here(focused), keys_page(keymap)])


def page_of(screen: Screen[Any]) -> str:
    """What is written about a page over the lab and about what has the keys on it, then their keys."""
    focused = screen.focused
    parts = dict.fromkeys([*_about(screen), *islice(_about(focused), 1)])
    return "\n\n".join([*parts, *_keys_here(screen, focused)])


def _keys_here(*widgets: Widget | None) -> Iterator[str]:
    rows = [f"| {key} | {word} |" for key, word in keys_of(*widgets)]
    if rows:
        yield "\n".join(["## Keys here", "", "| key | does |", "|---|---|", *rows])


def _about(widget: Widget | None) -> Iterator[str]:
    node = widget
    while isinstance(node, Widget):
        if node.HELP:
            yield node.HELP.strip()
        parent = node.parent
        node = parent if isinstance(parent, Widget) else None


def keys_of(*widgets: Widget | None) -> Iterator[tuple[str, str]]:
    """The keys that these widgets have of their own at this moment, and what they do."""
    seen: dict[str, list[str]] = {}
    for node in filter(None, widgets):
        for key, active in node.screen.active_bindings.items():
            words = active.tooltip or active.binding.description
            if active.node is node and words:
                seen.setdefault(words, []).append(key_name(key))
    for words, keys in seen.items():
        yield ", ".join(keys), words


def keys_page(keymap: Mapping[str, str]) -> str:
    """Every action with its keys, by group."""
    lines = ["## Every key"]
    for group, actions in GROUPS.items():
        lines += ["", "| " + group + " | |", "|---|---|"]
        lines += [f"| {keys_of_action(a, keymap)} | **{a.label}**: {a.help} |" for a in actions]
    lines += ["", "Other keys: a `keymap.toml` in your configuration folder, as the README shows."]
    return "\n".join(lines)
