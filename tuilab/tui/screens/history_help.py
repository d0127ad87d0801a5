"""The help of the history: what it is, its keys, and those of its table."""

from typing import TYPE_CHECKING

from textual.binding import BindingsMap

from tuilab.tui.widgets.table import Table

if TYPE_CHECKING:
    from tuilab.tui.screens.history import HistoryScreen


def page(screen: "HistoryScreen") -> str:
    """As Markdown."""
    from tuilab.tui.screens.history_table import RunsTable

    own = rows(screen._bindings) + rows(screen.table._bindings)
    keys = "\n".join(["## Keys here", "", "| key | does |", "|---|---|", *dict.fromkeys(own)])
    about = (screen.HELP or "", RunsTable.HELP or Table.HELP or "")
    return "\n\n".join([*(text.strip() for text in about), keys])


def rows(bindings: BindingsMap) -> list[str]:
    """A row for each action, with its keys."""
    from tuilab.tui.app import key_name

    found: dict[str, list[str]] = {}
    for key, binding in bindings:
        if binding.description:
            found.setdefault(binding.description, []).append(key_name(key))
    return [f"| {', '.join(keys)} | {word} |" for word, keys in found.items()]
