"""The help of the history: what it is, its keys, and those of its table."""

from typing import TYPE_CHECKING

from tuilab.tui.screens.help import keys_of
from tuilab.tui.widgets.table import Table

if TYPE_CHECKING:
    from tuilab.tui.screens.history import HistoryScreen


def page(screen: "HistoryScreen") -> str:
    """As Markdown."""
    from tuilab.tui.screens.history_table import RunsTable

    own = [f"| {keys} | {words} |" for keys, words in keys_of(screen, screen.table)]
    keys = "\n".join(["## Keys here", "", "| key | does |", "|---|---|", *own])
    about = (screen.HELP or "", RunsTable.HELP or Table.HELP or "")
    return "\n\n".join([*(text.strip() for text in about), keys])
