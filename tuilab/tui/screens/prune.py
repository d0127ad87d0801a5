"""The page that deletes old runs, chosen by age or by size."""

import sqlite3
from functools import partial

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container
from textual.validation import Number
from textual.widgets import Input, Static

from tuilab.lab.history import STAYS, History, HistoryClient, PruneCandidates, pruning, trouble
from tuilab.tui.keys import spoken
from tuilab.tui.screens.modal import Page, framed
from tuilab.tui.widgets.line_input import LineInput

FIELDS = {
    "days": "delete runs older than this many days",
    "megabytes": "then delete the oldest runs until at most this many megabytes are left",
}
MOST = 1_000_000


class PruneScreen(Page[PruneCandidates]):
    """Shows how many runs match the typed limits. Returns the runs to delete, or None."""

    DEFAULT_CSS = """
    PruneScreen Static { height: auto; }
    PruneScreen .name { color: $text-muted; }
    PruneScreen Input { margin-bottom: 1; }
    """

    def __init__(self, history: HistoryClient) -> None:
        super().__init__()
        self._history = history
        self._found: PruneCandidates | None = None

    def compose(self) -> ComposeResult:
        with framed(Container(), "Delete old runs", "enter deletes, {page.close} cancels"):
            for name, words in FIELDS.items():
                yield Static(words, markup=False, classes="name")
                number = Number(0, MOST)
                yield LineInput(id=name, max_length=12, type="number", validators=number, valid_empty=True)
            yield Static(f"Nothing chosen yet. {STAYS}", markup=False, id="found")

    def on_key(self, event: events.Key) -> None:
        if event.key in ("down", "up"):
            event.stop()
            self.focus_next() if event.key == "down" else self.focus_previous()

    @on(Input.Changed)
    def _typed(self) -> None:
        # clear the result immediately, so that runs found for earlier limits are never deleted
        self._found = None
        self._count()

    @work(exclusive=True, exit_on_error=False)
    async def _count(self) -> None:
        lines = [self.query_one(f"#{name}", Input) for name in FIELDS]
        wrong = next((line.value for line in lines if not line.is_valid), None)
        if wrong is not None:
            text = f"{wrong} is not a number from 0 to {MOST:,}"
        elif not any(line.value for line in lines):
            text = f"Nothing chosen yet. {STAYS}"
        else:
            days, megabytes = (float(line.value) if line.value else None for line in lines)
            left = None if megabytes is None else int(megabytes * 1e6)
            try:
                self._found = await self._history.do(partial(History.prunable, days=days, size=left))
                text = pruning(self._found)
            except sqlite3.Error as error:
                text = trouble(error)
        self.query_one("#found", Static).update(spoken(self, text))

    @on(Input.Submitted)
    def _delete(self) -> None:
        """Close the page with the counted runs as its result. Do nothing if no runs match or the count is not
        finished.
        """
        if self._found is not None and self._found.runs:
            self.dismiss(self._found)
