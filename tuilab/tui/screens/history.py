"""The history: every run that was kept, found, compared, tagged, pinned, deleted and taken along."""

import sqlite3
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Footer, Input

from tuilab.history import browse
from tuilab.history.browse import Entry, Extent
from tuilab.history.schema import is_damage
from tuilab.history.store import Store
from tuilab.lab.changes import Change
from tuilab.lab.history import LARGEST_BRIEF, HistoryClient, trouble, work_out
from tuilab.lab.settings import Settings
from tuilab.model.errors import InputError
from tuilab.model.events import Event
from tuilab.model.parameters import Value
from tuilab.model.quantity import size
from tuilab.tui.screens.history_files import HistoryFiles
from tuilab.tui.screens.history_parts import About, Said, Tone
from tuilab.tui.screens.history_table import LATEST, PAGE, Rows, RunsTable
from tuilab.tui.screens.modal import Modal
from tuilab.tui.views.filtered import Filter
from tuilab.tui.widgets.table import Table

if TYPE_CHECKING:
    from tuilab.lab import Lab

NONE_YET = (
    "No run has been kept yet. Escape goes back: r measures one there, and it is kept by itself. i takes \
in a recording, also one from another machine."
)


class HistoryScreen(HistoryFiles, Modal[str]):
    """A page of its own. Returns the run to replay, None where it was closed."""

    HELP = """\
## The history

Every run is kept here as it grows, the latest first; the list reads only what it shows. **/** finds as you
type: each word must occur in a run's preset, machine, answer, note, tags or id; `#word` looks in tags alone,
`machine:word`, `preset:word`, `note:word`, `pinned:ghost` in what they name.

The **ratio** is how many times as long the next arm takes as the fastest; `≈` where they do not differ beyond
the noise. **space** marks runs; what a key does, it does to all that are marked, else to the one under the
cursor. **c** compares the marked ones, or one with the baseline. A **ghost** is drawn under the live plot of
the same workload; a **baseline** too, and others are held against it. Neither is ever pruned.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "find", id="history.find"),
        Binding("c", "compare", "compare", tooltip="compare the marked runs", id="history.compare"),
        Binding("t", "tag", "tag", tooltip="change the tags", id="history.tag"),
        Binding("n", "note", "note", tooltip="write a note", id="history.note"),
        Binding("d,delete", "delete", "delete", id="history.delete"),
        Binding("u", "undo", "undo", tooltip="bring back what was deleted last", id="history.undo"),
        Binding(
            "b",
            "pin('baseline')",
            "baseline",
            tooltip="pin as baseline, or not any more",
            id="history.baseline",
        ),
        Binding("g", "pin('ghost')", "ghost", tooltip="pin as ghost, or not any more", id="history.ghost"),
        Binding("e", "export", "export", id="history.export"),
        Binding("i", "import", "import", tooltip="take in a recording", id="history.import"),
        Binding("p", "prune", "prune", tooltip="delete old runs; asks first", id="history.prune"),
        Binding("x", "stop", "stop", tooltip="stop what goes on", id="history.stop"),
        Binding("r", "again", "list again", show=False, id="history.again"),
        Binding("question_mark,f1", "help", "help", id="history.help"),
        Binding("escape", "back", "back", show=False, id="history.back"),
        Binding("q,h", "close", "close", id="history.close"),
    ]
    DEFAULT_CSS = """
    HistoryScreen { background: $background; }
    HistoryScreen #runs { height: 1fr; }
    HistoryScreen #run { height: 5; }
    HistoryScreen.-tall #run { height: 8; }
    HistoryScreen About { height: 1fr; }
    """

    def __init__(self, lab: "Lab") -> None:
        super().__init__(id="history")
        self.lab = lab
        self.ledger = HistoryClient(lab.store)
        self.table = RunsTable(self._usual, self._reorder, self._look)
        self.rows = Rows(0, lambda _: None)
        self._known: dict[tuple[str, str], Mapping[str, Value] | None] = {}
        self._search, self._order = "", LATEST
        self._wanted, self._loading = 0, False
        self._missing: list[int] = []
        self._tried: set[str] = set()
        self._fetching = self._filling = False

    def compose(self) -> ComposeResult:
        with Container(id="runs", classes="frame") as box:
            box.border_title = "History"
            yield Filter("runs: words, #tag, machine:name, preset:name", self.table)
            yield self.table
        with Container(id="run", classes="frame") as box:
            box.border_title = "Run"
            yield About()
        yield Said()
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self.set_class(getattr(self.app, "ascii_only", False), "-ascii")
        self.set_class(self.app.size.height >= 36, "-tall")
        self.table.focus()
        self._unsubscribe = self.lab.subscribe(self._heard)
        self.reload()

    def on_unmount(self) -> None:
        self._unsubscribe()
        if self.going is not None:
            self.going.stop()
        self.ledger.close()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height >= 36, "-tall")

    def say(self, text: str, tone: Tone = "quiet") -> None:
        """In the line under the runs."""
        if self.is_attached:
            self.query_one(Said).say(text, tone)

    def failed(self, error: sqlite3.Error) -> None:
        """Say what is wrong with the store; a damaged one is set aside and a new one begun."""
        self.say(trouble(error), "bad")
        recorder = self.lab.recorder
        if is_damage(error) and recorder is not None and recorder.recreate():
            self.say(f"{trouble(error)} It is set aside, nothing is deleted, and a new one is begun.", "bad")
            self.table.marked.clear()
            self.reload()

    def _heard(self, change: Change, event: Event | None) -> None:
        if Change.OVER in change:
            self.reload()

    # What is listed

    def reload(self) -> None:
        """List again, from what the store has now."""
        self._wanted += 1
        if not self._loading:
            self.run_worker(self._load(), exit_on_error=False)

    async def _load(self) -> None:
        """One search at a time; what is typed meanwhile is searched for after it."""
        self._loading, done = True, 0
        try:
            while done != self._wanted and self.is_attached:
                done = self._wanted
                search, order = self._search, self._order
                place = self.table.cursor if search == self.table.search else 0
                try:
                    found = await self.ledger.do(partial(_first, search=search, order=order, place=place))
                except sqlite3.Error as error:
                    self.table.empty = trouble(error)
                    self.rows = Rows(0, lambda _: None)
                    self.table.show(self.rows, search)
                    self.failed(error)
                    continue
                if self.is_attached:
                    self._list(search, *found)
        finally:
            self._loading = False

    def _list(self, search: str, extent: Extent, number: int, entries: list[Entry], place: int) -> None:
        self._missing.clear()
        self.rows = Rows(extent.runs, self._want)
        self.rows.put(number, entries)
        self.table.empty = f"No run has “{search}”. Escape empties the line." if search else self._why_empty()
        self.table.show(self.rows, search, place)
        runs = f"{extent.runs:,} run" + ("" if extent.runs == 1 else "s")
        self.query_one("#runs").border_subtitle = f"{runs}, {size(extent.size)}" if extent.runs else ""
        self._show_row()

    def _why_empty(self) -> str:
        said = " ".join(f"{message.capitalize()}." for message in self.lab.store.messages)
        return f"{NONE_YET} {said}".strip()

    def _want(self, number: int) -> None:
        """A page that shows is not here: the one that was asked for last comes first."""
        if number in self._missing:
            return
        self._missing.append(number)
        if not self._fetching:
            self._fetching = True
            self.run_worker(self._fetch(), exit_on_error=False)

    async def _fetch(self) -> None:
        try:
            while self._missing and self.is_attached:
                rows, number = self.rows, self._missing[-1]
                first, behind = self.table.window
                if not first // PAGE <= number <= behind // PAGE:
                    self._missing.remove(number)  # it was scrolled past
                    continue
                call = partial(_page, search=self._search, order=self._order, number=number)
                entries = await self.ledger.do(call)
                if rows is self.rows and number in self._missing:
                    self._missing.remove(number)
                    rows.put(number, entries)
                    self.table.came()
                    self._show_row()
        except sqlite3.Error as error:
            self._missing.clear()
            self.failed(error)
        finally:
            self._fetching = False

    def _look(self) -> None:
        """Other rows may show: work out the lines of those that have none."""
        if not self._filling and self._bare() is not None:
            self._filling = True
            self.run_worker(self._fill(), exit_on_error=False)

    def _bare(self) -> Entry | None:
        for entry in self.rows.known(*self.table.window):
            over = entry.line.status is not None and entry.line.rounds and entry.line.size <= LARGEST_BRIEF
            if over and entry.brief is None and entry.run not in self._tried:
                return entry
        return None

    async def _fill(self) -> None:
        """One run after the other, so that a search need not wait for more than one."""
        try:
            while (entry := self._bare()) is not None and self.is_attached:
                self._tried.add(entry.run)
                found = await self.ledger.do(partial(work_out, entry=entry))
                self.rows.replace(msgspec.structs.replace(entry, brief=found))
                self.table.came()
                self._show_row()
        except sqlite3.Error as error:
            self.failed(error)
        finally:
            self._filling = False

    def _usual(self, preset: str, workload: str) -> Mapping[str, Value] | None:
        """The parameters as that preset has them, or else as the workload has."""
        if (preset, workload) not in self._known:
            self._known[preset, workload] = usual(self.lab, preset, workload)
        return self._known[preset, workload]

    def _reorder(self, order: str, rising: bool) -> None:
        self._order = order, rising
        self.table.go_first()
        self.reload()

    # The line to search with, and the cursor

    def action_close(self) -> None:
        """Back to the lab."""
        self.dismiss(None)

    def action_filter(self) -> None:
        """Go to the line."""
        self.set_focus(self.query_one(Filter))

    def action_back(self) -> None:
        """From the line to the rows; from there empty the line, then close."""
        line = self.query_one(Filter)
        if line.has_focus:
            self.table.focus()
        elif line.value:
            line.value = ""
        else:
            self.action_close()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search as it is typed."""
        event.stop()
        self._search = " ".join(event.value.split())
        self.reload()

    def on_table_moved(self, event: Table.Moved) -> None:
        """Show the run under the cursor in full."""
        event.stop()
        self._show_row()

    def on_table_selected(self, event: Table.Selected) -> None:
        """Replay it."""
        event.stop()
        self.action_replay()

    def _show_row(self) -> None:
        row = self.table.row
        self.query_one(About).show(row if row is not None and row.run else None)


def _first(
    store: Store, *, search: str, order: tuple[str, bool], place: int
) -> tuple[Extent, int, list[Entry], int]:
    """How much there is, and the page with the cursor in it."""
    extent = browse.extent(store, search)
    place = max(0, min(place, extent.runs - 1))
    return extent, place // PAGE, _page(store, search=search, order=order, number=place // PAGE), place


def _page(store: Store, *, search: str, order: tuple[str, bool], number: int) -> list[Entry]:
    by, rising = order
    return browse.page(store, search, order=by, rising=rising, limit=PAGE, offset=number * PAGE)


def usual(lab: "Lab", preset: str, workload: str) -> Mapping[str, Value] | None:
    """What a run of that preset measures as its document has it, else the workload's own values."""
    from tuilab.workloads import find

    known = next((p for p in lab.state.presets if p.name == preset and p.workload == workload), None)
    try:
        if known is not None:
            declaration, file = lab.state.own.get(preset) or (find(workload).declaration, "")
            return Settings.of(known, declaration, file).values
        return {p.name: p.default for p in find(workload).declaration.parameters}
    except (InputError, KeyError):
        return None
