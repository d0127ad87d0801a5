"""The help for the focused widget and the open view, with the keys that work there."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from typing import Any, ClassVar

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Markdown, Static

from tuilab.model.search import contains
from tuilab.tui.actions import GROUPS
from tuilab.tui.keys import keys_here, keys_of, worded
from tuilab.tui.panels.views import Views
from tuilab.tui.screens.modal import Modal, Page, framed
from tuilab.tui.widgets.line_input import LineInput

COLUMN = 22
MARKED = re.compile(r"\*\*|`")
WORDS = """\
## Words

- An **arm** is one way to do the same work: on a device, in a mode, with its input *resident* (already on the
device) or *copied* (moved there in each call). Each line of a plot is an arm.
- The **modes**: *eager* runs op by op from Python, *graph* is one `tf.function`, *xla* compiles that
function.
- A **block** is a few calls timed together. A **round** is one block of each arm, in random order.
- `[339 346]` is the **95% interval**: in 95 of 100 such runs it contains the true median. **±** is half its
width.
- The **crossover** is the size above which another arm is faster.
- **Dispatch** is the time that Python and TensorFlow need to hand an op to the device.
- A **roof** is a device's maximum rate, in operations or bytes per second.
- The **canary** is a small fixed task in each round: if it slows down, other work keeps the machine busy.
- A **ghost** is an earlier run, drawn faintly under the current run. A **baseline** is the run that other
runs are compared with.
"""
OTHERS = "To change keys, write a `keymap.toml` in your configuration folder (`~/.config/tuilab`)."


class HelpScreen(Modal[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,q", "dismiss", "close", id="help.close"),
        Binding("slash", "search", "search", id="help.search"),
    ]
    CSS = """
    HelpScreen { align: center middle; background: $background 60%; }
    HelpScreen VerticalScroll { width: 88; max-width: 96%; height: 90%; padding: 0 1; }
    HelpScreen Markdown { background: transparent; margin: 0; padding: 0 1; }
    HelpScreen MarkdownH2 { color: $accent; text-style: bold; margin: 1 0; background: transparent; }
    HelpScreen .table { margin: 0 0 1 1; height: auto; }
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self._page = page

    def compose(self) -> ComposeResult:
        with framed(VerticalScroll(), "Help", "{help.search} searches, {page.close} closes"):
            yield LineInput(placeholder="type a word, then press enter", id="search")
            for tables, found in groupby(self._page.split("\n\n"), lambda block: block.startswith("|")):
                blocks = list(found)
                # Textual's Markdown creates a widget for each table cell, which would delay the page by a
                # second.
                yield from map(draw_table, blocks) if tables else [Markdown("\n\n".join(blocks))]

    def on_mount(self) -> None:
        self.query_one(LineInput).display = False
        self.query_one(VerticalScroll).focus()

    def action_search(self) -> None:
        """Show a text field for search words. Only blocks that contain all words remain on the page."""
        line = self.query_one(LineInput)
        line.display = True
        line.focus()

    @on(LineInput.Submitted)
    def _searched(self) -> None:
        self.query_one(VerticalScroll).focus()

    @on(LineInput.Changed)
    async def _search(self, event: LineInput.Changed) -> None:
        found = matching(self._page, event.value)
        await self.query("VerticalScroll > Static, VerticalScroll > Markdown").remove()
        await self.query_one(VerticalScroll).mount_all(
            draw_table(block) if block.startswith("|") else Markdown(block)
            for block in found or ["No help text contains these words."]
        )


def matching(page: str, words: str) -> list[str]:
    """Return the blocks of the page that contain all words. A table keeps only the rows that contain all
    words.
    """
    out = []
    for block in page.split("\n\n"):
        if block.startswith("|"):
            head, rule, *rows = block.splitlines()
            rows = [row for row in rows if contains(row, words)]
            out += ["\n".join([head, rule, *rows])] if rows else []
            continue
        items = ("\n" + block).split("\n- ") if block.startswith("- ") else [block]
        found = [item for item in items if item and contains(item, words)]
        out += [f"- {item}" for item in found] if block.startswith("- ") else found
    return out


def draw_table(table: str) -> Static:
    """Draw a Markdown table of keys and their effects."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(min_width=9, max_width=COLUMN)
    head, _, *rows = [line.strip("| ").split(" | ", 1) for line in table.splitlines()]
    grid.add_row(*(Text(cell.strip(), "bold underline") for cell in head))
    for keys, words in rows:
        grid.add_row(Text(keys, "bold"), Text.assemble(*_bold(words)))
    return Static(grid, classes="table")


def _bold(words: str) -> Iterator[tuple[str, str]]:
    """Split a text at `**` and backticks. Yields each part with its style."""
    for index, part in enumerate(MARKED.split(words)):
        yield part, "bold" * (index % 2)


class Fitting(Columns):
    """Lays out as many columns as fit. (Rich's own class divides by zero if none fits.)"""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.width = min(COLUMN, options.max_width - 1)
        if self.width > 0:
            yield from super().__rich_console__(console, options)


class KeysScreen(Page[None]):
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
            yield Static(Fitting(cells, column_first=True))


def page(screen: Screen[Any], keymap: Mapping[str, str]) -> str:
    """Return the help page: help for the focused widget and for the open view or page, and then tables of
    keys.
    """
    views = screen.query(Views)
    shown = views.first().view if views else screen
    about = dict.fromkeys([*islice(_about(screen.focused), 2), *islice(_about(shown), 1)])
    here = keys_here(screen.focused, None if views else screen)
    rows = [f"| {keys} | {words} |" for keys, words, _ in here]
    written = [*about, "## Keys", *_table("key | action", rows), WORDS]
    if views:
        written.append("## Keys everywhere in the lab")
        for group, actions in GROUPS.items():
            rows = [f"| {keys_of(a, keymap)} | **{a.label}**: {a.help} |" for a in actions]
            written += _table(f"{group} | ", rows)
    return worded("\n\n".join([*written, OTHERS]), keymap)


def _table(head: str, rows: list[str]) -> list[str]:
    return ["\n".join([f"| {head} |", "|---|---|", *rows])] if rows else []


def _about(widget: Widget | None) -> Iterator[str]:
    """Yield the help text of the widget, and then the help texts of its ancestors."""
    for node in widget.ancestors_with_self if widget is not None else ():
        if isinstance(node, Widget) and node.HELP:
            yield node.HELP.strip()
