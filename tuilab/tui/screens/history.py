"""The history: find, compare, tag, pin, delete and export saved runs."""

import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input

from tuilab.lab import history as acts
from tuilab.lab.changes import Change
from tuilab.lab.history import (
    Across,
    CancellableProgress,
    Entry,
    PruneCandidates,
    Stopped,
    common_tags,
    tags_of,
    titled,
    trouble,
)
from tuilab.lab.offers import Offer
from tuilab.model.errors import InputError
from tuilab.model.files import expanded, write_text
from tuilab.model.quantity import plural, size
from tuilab.model.sanitize import sanitize_line
from tuilab.presentation.run_list import RunList
from tuilab.tui.keys import spoken
from tuilab.tui.messages import Hearing, LabChanged
from tuilab.tui.panels.key_bar import KeyBar
from tuilab.tui.screens.asking import NoteScreen
from tuilab.tui.screens.history_table import About, RunsTable
from tuilab.tui.screens.menu import MenuScreen
from tuilab.tui.screens.modal import Modal, framed, retitle
from tuilab.tui.screens.prune import PruneScreen
from tuilab.tui.screens.runs_compared import MOST, RunsCompared
from tuilab.tui.views.filtered import Filter
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import BAD, GOOD, MUTED, WARN, Line, TextStyle
from tuilab.tui.widgets.table import Table
from tuilab.tui.widgets.wording import clip, wrap

if TYPE_CHECKING:
    from tuilab.lab import Lab

NONE_YET = (
    "No run has been saved yet. {history.back} goes back: {run} then measures a run and saves it. "
    "{history.import} imports a recording, also from another machine."
)
ALONE = (
    "Mark two or more runs with {history.mark}, then press {history.compare}. To compare one run with its "
    "workload's baseline, pin a baseline first ({history.baseline})."
)
TAGS = "Separate tags with commas. A tag that you delete from the line is removed."
IMPORTS = "There is no recording (.jsonl) in the current folder. Type a path below."
SHOW_S = 0.25
COMPARE_S = 2.0
"""Seconds between checks whether another process changed the history."""
MOST_SAID = 3

T = TypeVar("T")


class Said(LineWidget):
    """The result of the last operation or the progress of the current one, on up to three lines."""

    DEFAULT_CSS = "Said { height: 1; padding: 0 1; }"
    text, style = "", MUTED

    def show(self, text: str, style: TextStyle) -> None:
        self.text, self.style = text, style = spoken(self, text), style
        width = max(20, self.app.size.width - 2)
        self.styles.height = min(MOST_SAID, max(1, len(wrap(text, width))))
        self.repaint()

    def paint(self, width: int, height: int) -> Sequence[Line]:
        return [((text, self.style),) for text in clip(self.text, width, height)]


class HistoryScreen(Modal[str], Hearing):
    """The page of saved runs. Returns the id of the run to replay, or None."""

    HELP = """\
## The history

Every run is saved here while it runs; the latest one is at the top. **{history.find}** finds as you type:
each word must occur in a run's preset or its title, machine, answer, note, tags or id; `#word` looks in tags
only, `machine:word`, `preset:word`, `note:word`, `pinned:ghost` look only in the named field. **vs next**
is the time of the next arm divided by that of the fastest; `≈ 1×` means equal within 10%, `≈` means no
significant difference. **{history.mark}** marks runs; a key acts on all marked runs, or on the run under the
cursor. **{history.compare}** compares the marked runs, or one run with the baseline. A **ghost** is drawn
under the live plot of the same workload. A **baseline** is drawn there too, and other runs are compared with
it. Neither is ever pruned.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "find", id="history.find"),
        Binding("c", "compare", "compare", tooltip="compare the marked runs", id="history.compare"),
        Binding(
            "b",
            "pin('baseline')",
            "baseline",
            tooltip="pin as baseline, or unpin",
            id="history.baseline",
        ),
        Binding("t", "tag", "tag", tooltip="change the tags", id="history.tag"),
        Binding("n", "note", "note", tooltip="write a note", id="history.note"),
        Binding("d,delete", "delete", "delete", id="history.delete"),
        Binding("u", "undo", "undo", tooltip="undo the last deletion", id="history.undo"),
        Binding("g", "pin('ghost')", "ghost", tooltip="pin as ghost, or unpin", id="history.ghost"),
        Binding("e", "export", "export", id="history.export"),
        Binding("i", "import", "import", tooltip="import a recording", id="history.import"),
        Binding("p", "prune", "prune", tooltip="delete old runs, after asking", id="history.prune"),
        Binding("x", "stop", "stop", tooltip="stop the current task", id="history.stop"),
        Binding("r", "again", "refresh the list", show=False, id="history.again"),
        Binding("question_mark,f1", "app.help", "help", id="history.help"),
        Binding("escape", "back", "back", show=False, id="history.back"),
        Binding("q,h", "close", "close", id="history.close"),
    ]
    VERTICAL_BREAKPOINTS = [(36, "-tall")]  # noqa: RUF012
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
        self.history = lab.saved.client()
        self.going: CancellableProgress | None = None
        self.runs = RunList(self.history, {preset.name: preset.title for preset in lab.state.presets.all})
        self.table = RunsTable(self.runs, lab.state.presets.usual, self._read_on)
        self._reading = False
        self._version = 0

    def compose(self) -> ComposeResult:
        with framed(Container(id="runs"), "History"):
            yield Filter("runs: words, #tag, machine:name, preset:name", self.table, "history.find")
            yield self.table
        with framed(Container(id="run"), "Run"):
            yield About()
        yield Said()
        yield KeyBar()

    def on_mount(self) -> None:
        self.table.focus()
        self.table.reload()
        self.set_interval(COMPARE_S, self._look_for_changes)

    def on_unmount(self) -> None:
        if self.going is not None:
            self.going.stop()
        self.history.close()

    def say(self, text: str, style: TextStyle = MUTED) -> None:
        if self.is_attached:
            self.query_one(Said).show(text, style)

    def failed(self, error: sqlite3.Error) -> None:
        """Show a problem with the store. A damaged history file is renamed, and a new one is used."""
        self.say(trouble(error), BAD)
        if kept := self.lab.saved.set_aside(error):
            self.say(f"{trouble(error)} {kept}", BAD)
            self.table.marked.clear()
            self.table.reload()

    @on(LabChanged)
    def _heard(self, event: LabChanged) -> None:
        if Change.OVER in event.change:
            self.table.reload()

    # The list and the run under the cursor

    def _read_on(self) -> None:
        """Load the rows that the list needs, if no load is active."""
        if self.runs.wants and not self._reading:
            self._reading = True
            self.run_worker(self._read(), exit_on_error=False)

    async def _read(self) -> None:
        try:
            while self.runs.wants and self.is_attached:
                await self._read_next()
        finally:
            self._reading = False

    async def _read_next(self) -> None:
        try:
            place = await self.runs.read_next()
            self.table.empty = NONE_YET + "".join(f" {m.capitalize()}." for m in self.lab.history.messages)
        except sqlite3.Error as error:
            place, self.table.empty = None, trouble(error)
            self.failed(error)
            if self.runs:
                return  # the rows are requested again when the cursor moves
        if not self.is_attached:
            return
        self.table.came(place)
        if place is not None:
            self._version = await self._read_version()
            found = self.runs.extent
            text = f"{plural(found.runs, 'run')}, {size(found.size)}" if found.runs else ""
            retitle(self.query_one("#runs"), subtitle=text)
        self._show_row()

    async def _read_version(self) -> int:
        return await self.history.do(lambda history: history.version)

    async def _look_for_changes(self) -> None:
        """Tell the user once if another process changed the history. The list is not reloaded, because the
        cursor could then be on another run when the user presses a key.
        """
        if self._version and not self._reading and self.going is None and not self.lab.state.running:
            with contextlib.suppress(sqlite3.Error):
                if await self._read_version() != self._version:
                    self._version = 0
                    self.say("The history has changed; {history.again} refreshes the list.")

    @on(Table.Moved)
    def _show_row(self) -> None:
        for about in self.query(About):  # none if the page was closed meanwhile
            about.show(self.table.row)

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self.table.filter = event.value

    def action_filter(self) -> None:
        self.set_focus(self.query_one(Filter))

    def action_close(self) -> None:
        self.dismiss(None)

    def action_back(self) -> None:
        """If the text field has the focus, move the focus to the rows. Otherwise clear the filter, or
        close the page if the filter is empty.
        """
        line = self.query_one(Filter)
        if line.has_focus:
            self.table.focus()
        elif line.value:
            line.value = ""
        else:
            self.dismiss(None)

    def action_again(self) -> None:
        self.table.reload()
        self.say("List refreshed.")

    @on(Table.Selected)
    def action_replay(self) -> None:
        row = self._row()
        if row is None:
            return
        if not row.line.rounds:
            self.say(f"{titled([row])} has no rounds, so there is nothing to replay.", WARN)
        elif self.lab.state.running:
            self.say(
                "A run is in progress, and a replay would end it: first stop the run in the lab ({stop}).",
                WARN,
            )
        else:
            self.dismiss(row.run)

    def _row(self) -> Entry | None:
        """Return the run under the cursor. If there is none, tell the user."""
        row = self.table.row
        if row is None or not row.run:
            self.say("No run is selected.")
            return None
        return row

    def _chosen(self) -> list[Entry]:
        """Return the marked runs, or else the run under the cursor. If there is none, tell the user."""
        found = self.table.chosen
        if not found:
            self.say("No run is selected.")
        return found

    # Running an operation

    def _begin(self, what: str) -> CancellableProgress | None:
        """Return the progress of a new long operation, or None if another operation is active."""
        if self.going is not None:
            # Use the note, because the next progress report would overwrite any other message.
            self.going.note = ". Only one task can run at a time."
            self.say(self.going.words(), WARN)
            return None
        self.going = CancellableProgress(what)
        self.say(self.going.words())
        return self.going

    @work(exit_on_error=False)
    async def _act(
        self, act: Awaitable[T], then: Callable[[T], None], going: CancellableProgress | None = None
    ) -> None:
        """Run an operation in the background, and call `then` with its result. going: progress of a long
        operation.
        """
        timer = self.set_interval(SHOW_S, lambda: self.say(going.words())) if going is not None else None
        try:
            then(await act)
        except Stopped as stopped:
            self.say(
                str(stopped) or f"{f'{going.what}: stopped' if going else 'Stopped'}; nothing was changed.",
                WARN,
            )
            self.table.reload()
        except sqlite3.Error as error:
            self.failed(error)
        except (InputError, OSError, ValueError) as error:
            self.say(str(error), BAD)
        finally:
            if timer is not None:
                timer.stop()
                self.going = None

    def _changed(self, said: str) -> None:
        self.say(said, GOOD)
        self.table.reload()

    def _repinned(self, said: str) -> None:
        """Show the result, reload the list, and draw the pinned runs in the live plot."""
        self._changed(said)
        self.run_worker(self.lab.show_pinned(), exit_on_error=False)

    def action_stop(self) -> None:
        if self.going is None:
            self.say("No task is running.")
        else:
            self.going.stop()
            self.say(self.going.words())

    # Comparing

    def action_compare(self) -> None:
        """Compare the marked runs, or the run under the cursor with its baseline."""
        entries = self._chosen()
        if len(entries) > MOST:
            self.say(f"At most {MOST} runs can be compared at once; {len(entries)} are marked.", WARN)
        elif entries and (going := self._begin("Reading " + plural(max(2, len(entries)), "run"))):
            call = partial(acts.compared, entries=entries, going=going)
            self._act(self.history.do(call), self._compared, going)

    def _compared(self, found: tuple[list[Entry], Across | None]) -> None:
        entries, across = found
        self.say("" if across else ALONE, WARN)
        if across:
            self.app.push_screen(RunsCompared(entries, across))

    # Changing

    def action_tag(self) -> None:
        def given(line: str | None) -> None:
            if line is not None:
                call = partial(acts.retag, entries=entries, after=tags_of(line))
                self._act(self.history.do(call), self._changed)

        if entries := self._chosen():
            begun = ", ".join(common_tags(entries))
            page = MenuScreen(f"Tags of {titled(entries)}", typed="tags", empty=TAGS, begun=begun)
            self.app.push_screen(page, given)

    def action_note(self) -> None:
        row = self._row()
        if row is None:
            return

        def given(text: str | None) -> None:
            if text is not None:
                self._act(self.history.do(partial(acts.write_note, entry=row, text=text)), self._changed)

        self.app.push_screen(NoteScreen(f"Note on {titled([row])}", row.line.note), given)

    def action_pin(self, kind: str) -> None:
        """Pin runs as ghosts or baselines. If all of them are already pinned as `kind`, unpin them."""
        if entries := self._chosen():
            self._act(self.history.do(partial(acts.pin, entries=entries, kind=kind)), self._repinned)

    def action_delete(self) -> None:
        shown, entries = self.lab.state.shown, self._chosen()
        if shown.running and any(entry.run == shown.run for entry in entries):
            self.say(
                "One of these runs is still in progress: stop it in the lab ({stop}) before you delete it.",
                WARN,
            )
        elif entries:
            self._act(self.history.do(partial(acts.delete, entries=entries)), self._deleted)

    def _deleted(self, said: str) -> None:
        self.table.marked.clear()
        self._repinned(said)

    def action_undo(self) -> None:
        self._act(self.history.do(acts.undo), self._repinned)

    def action_prune(self) -> None:
        def given(found: PruneCandidates | None) -> None:
            if found is not None and (going := self._begin("Pruning")):
                self._act(acts.prune(self.history, found, going), self._deleted, going)

        self.app.push_screen(PruneScreen(self.history), given)

    # Files

    def action_export(self) -> None:
        from tuilab.lab.export import formats, write_several

        def given(key: str | None) -> None:
            if key == "svg":
                self.call_after_refresh(self._picture)
            elif key and (going := self._begin(f"Writing {titled(entries)}")):
                claims = {preset.name: preset.claims for preset in self.lab.state.presets.all}
                act = write_several(self.history, key, entries, claims, Path.cwd(), going)
                self._act(act, self._written, going)

        if entries := self._chosen():
            title = f"Export {titled(entries)} to the current folder"
            self.app.push_screen(MenuScreen(title, formats(True)), given)

    def _written(self, said: str) -> None:
        self.say(said, GOOD)

    def _picture(self) -> None:
        from tuilab.lab.export import free

        path = free(Path.cwd() / "tuilab-history.svg")
        try:
            write_text(path, [self.app.export_screenshot(title="tuilab")])
        except OSError as error:
            self.say(f"{path} could not be written: {error.strerror}", BAD)
        else:
            self._written(f"Written: {path}")

    def action_import(self) -> None:
        def given(words: str | None) -> None:
            file = expanded(words or "")
            if words and (going := self._begin(f"Importing {sanitize_line(file.name, 60)}")):
                call = partial(acts.take_in, file=file, going=going)
                self._act(self.history.do(call), self._changed, going)

        files = acts.recordings(Path.cwd())
        items = [Offer(str(path), path.name, size(path.stat().st_size)) for path in files]
        typed = f"{'or ' if items else ''}the path of a recording, then press enter"
        self.app.push_screen(MenuScreen("Import a recording", items, typed=typed, empty=IMPORTS), given)
