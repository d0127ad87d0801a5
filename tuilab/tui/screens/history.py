"""The history: every run that was kept, found, compared, tagged, pinned, deleted and taken along."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input

from tuilab.analysis.words import plural
from tuilab.lab.changes import Change
from tuilab.lab.history import (
    LARGEST_BRIEF,
    PAGE,
    CancellableProgress,
    Entry,
    Extent,
    HistoryClient,
    PruneCandidates,
    Stopped,
    Store,
    compared,
    first_page,
    ghosts,
    is_damage,
    page,
    recordings,
    retag,
    take_in,
    trouble,
    work_out,
)
from tuilab.lab.offers import Offer
from tuilab.model.errors import InputError
from tuilab.model.parameters import Value
from tuilab.model.quantity import size
from tuilab.model.sanitize import sanitize_line
from tuilab.tui.messages import Hearing, LabChanged
from tuilab.tui.panels.key_bar import KeyBar
from tuilab.tui.screens.history_parts import About, Said, Tone
from tuilab.tui.screens.history_table import LATEST, Rows, RunsTable
from tuilab.tui.screens.modal import Modal, framed
from tuilab.tui.views.filtered import Filter
from tuilab.tui.widgets.table import Table

if TYPE_CHECKING:
    from tuilab.lab import Lab

NONE_YET = (
    "No run has been kept yet. Escape goes back: r measures one there, and it is kept "
    "automatically. i imports a recording, also one from another machine."
)


T = TypeVar("T")

SHOW_S = 0.25
"""How often it is said how far an act is."""
MOST_TAGS, LONGEST_TAG = 30, 64
TAGS = "Separated by commas. A tag that you delete from the line is removed."
IMPORTS = "There is no recording (.jsonl) in the current folder. Type the path of one below."


class HistoryScreen(Modal[str], Hearing):
    """A page of its own. Returns the run to replay, None where it was closed."""

    HELP = """\
## The history

Every run is saved here while it runs, latest first; the list reads only what it shows. **/** finds as you
type: each word must occur in a run's preset or its title, machine, answer, note, tags or id; `#word` looks
in tags only, `machine:word`, `preset:word`, `note:word`, `pinned:ghost` in the field they name.

The **ratio** is how many times as long the next arm takes as the fastest; `≈` where they are equal within the
noise. **space** marks runs; a key acts on all marked runs, or on the one under the cursor. **c** compares the
marked ones, or one with the baseline. A **ghost** is drawn under the live plot of the same workload; so is a
**baseline**, and other runs are compared with it. Neither is ever pruned.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "find", id="history.find"),
        Binding("c", "compare", "compare", tooltip="compare the marked runs", id="history.compare"),
        Binding("t", "tag", "tag", tooltip="change the tags", id="history.tag"),
        Binding("n", "note", "note", tooltip="write a note", id="history.note"),
        Binding("d,delete", "delete", "delete", id="history.delete"),
        Binding("u", "undo", "undo", tooltip="undo the last deletion", id="history.undo"),
        Binding(
            "b",
            "pin('baseline')",
            "baseline",
            tooltip="pin as baseline, or unpin",
            id="history.baseline",
        ),
        Binding("g", "pin('ghost')", "ghost", tooltip="pin as ghost, or unpin", id="history.ghost"),
        Binding("e", "export", "export", id="history.export"),
        Binding("i", "import", "import", tooltip="import a recording", id="history.import"),
        Binding("p", "prune", "prune", tooltip="delete old runs; asks first", id="history.prune"),
        Binding("x", "stop", "stop", tooltip="stop what is running", id="history.stop"),
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
        self.history = HistoryClient(lab.store)
        self.going: CancellableProgress | None = None
        self.table = RunsTable(self._usual, self._reorder, self._look)
        self.rows = Rows(0, lambda _: None)
        self._known: dict[tuple[str, str], Mapping[str, Value] | None] = {}
        self._search, self._order = "", LATEST
        self._titles = {preset.name: preset.title for preset in lab.state.presets}
        self._wanted, self._loading = 0, False
        self._missing: list[int] = []
        self._tried: set[str] = set()
        self._fetching = self._filling = False

    def compose(self) -> ComposeResult:
        with framed(Container(id="runs"), "History"):
            yield Filter("runs: words, #tag, machine:name, preset:name", self.table)
            yield self.table
        with framed(Container(id="run"), "Run"):
            yield About()
        yield Said()
        yield KeyBar()

    def on_mount(self) -> None:
        self.table.focus()
        self.reload()

    def on_unmount(self) -> None:
        if self.going is not None:
            self.going.stop()
        self.history.close()

    def say(self, text: str, tone: Tone = "quiet") -> None:
        """In the line under the runs."""
        if self.is_attached:
            self.query_one(Said).say(text, tone)

    def failed(self, error: sqlite3.Error) -> None:
        """Say what is wrong with the store; a damaged one is set aside and a new one begun."""
        self.say(trouble(error), "bad")
        recorder = self.lab.recorder
        if is_damage(error) and recorder is not None and recorder.recreate():
            self.say(
                f"{trouble(error)} It was kept under another name, nothing was deleted, and a "
                f"new history was started.",
                "bad",
            )
            self.table.marked.clear()
            self.reload()

    @on(LabChanged)
    def _heard(self, event: LabChanged) -> None:
        if Change.OVER in event.change:
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
                    found = await self.history.do(
                        partial(first_page, search=search, order=order, place=place, titles=self._titles)
                    )
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
        runs = plural(extent.runs, "run")
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
                call = partial(
                    page, search=self._search, order=self._order, number=number, titles=self._titles
                )
                entries = await self.history.do(call)
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
                found = await self.history.do(partial(work_out, entry=entry))
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
            self._known[preset, workload] = self.lab.state.usual(preset, workload)
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

    # How an act goes

    def _act(self, what: Callable[[], Awaitable[None]], going: CancellableProgress | None = None) -> None:
        """Do it beside the screen. going: of a long one, of which there is one at a time."""
        if going is not None and self.going is not None:
            self.going.note = (
                ". Only one thing runs at a time."  # stays, or the next report would take its place at once
            )
            self.say(self.going.words(), "warn")
            return
        self.run_worker(self._done(what, going), exit_on_error=False)

    async def _done(self, what: Callable[[], Awaitable[None]], going: CancellableProgress | None) -> None:
        self.going = going or self.going
        timer = self.set_interval(SHOW_S, lambda: self.say(going.words())) if going is not None else None
        if going is not None:
            self.say(going.words())
        try:
            await what()
        except Stopped:
            self.say(f"{going.what if going else 'It'}: stopped; nothing was changed.", "warn")
        except sqlite3.Error as error:
            self.failed(error)
        except (InputError, OSError, ValueError) as error:
            self.say(str(error), "bad")
        finally:
            if timer is not None:
                timer.stop()
                self.going = None

    async def _change(self, call: Callable[[Store], T], said: Callable[[T], str]) -> None:
        """Change the store, say what that did, and list again."""
        done = await self.history.do(call)
        self.say(said(done), "good")
        self.reload()

    def action_stop(self) -> None:
        """Stop what goes on."""
        if self.going is None:
            self.say("Nothing is running here.")
        else:
            self.going.stop()
            self.say(self.going.words())

    def _chosen(self) -> list[Entry]:
        """The runs that an act is for; says so where there are none."""
        found = self.table.chosen
        if not found:
            self.say("No run here.")
        return found

    # Looking

    def action_again(self) -> None:
        """List again: another program may have added runs."""
        self.reload()
        self.say("List refreshed.")

    def action_mark(self) -> None:
        """Mark the run under the cursor."""
        self.table.action_mark()

    def action_replay(self) -> None:
        """Show the run under the cursor in the lab, as if it were live."""
        row = self.table.row
        if row is None or not row.run:
            self.say("No run here.")
        elif not row.line.rounds:
            self.say(f"{titled([row])} has no rounds, so there is nothing to replay.", "warn")
        elif self.lab.state.running:
            self.say("A run is in progress, and a replay would end it: stop it in the lab (x) first.", "warn")
        else:
            self.dismiss(row.run)

    def action_compare(self) -> None:
        """The marked runs side by side, or the one under the cursor with the baseline of its kind."""
        from tuilab.tui.screens.runs_compared import MOST

        entries = self._chosen()
        if len(entries) > MOST:
            self.say(f"At most {MOST} runs are compared at once; {len(entries)} are marked.", "warn")
        elif entries:
            going = CancellableProgress("Reading " + plural(max(2, len(entries)), "run"))
            self._act(partial(self._compare, entries, going), going)

    async def _compare(self, entries: list[Entry], going: CancellableProgress) -> None:
        from tuilab.tui.screens.runs_compared import RunsCompared

        chosen, found = await self.history.do(partial(compared, entries=entries, going=going))
        if found is None:
            self.say(
                "Mark two runs or more with space, then c. One run alone is compared with the baseline of "
                "its workload, but none is pinned (b).",
                "warn",
            )
            return
        self.say("")
        self.app.push_screen(RunsCompared(chosen, found))

    # Changing

    def action_tag(self) -> None:
        """Change the tags."""
        from tuilab.tui.screens.menu import MenuScreen

        entries = self._chosen()
        if not entries:
            return
        common = [tag for tag in entries[0].line.tags if all(tag in e.line.tags for e in entries)]

        def given(line: str | None) -> None:
            if line is not None:
                after = tags_of(line)
                said = "Tags of {}: {}".format(titled(entries), " ".join(f"#{t}" for t in after) or "none")
                call = partial(retag, runs=[e.run for e in entries], before=common, after=after)
                self._act(lambda: self._change(call, lambda _: said))

        begun = ", ".join(common)
        page = MenuScreen(f"Tags of {titled(entries)}", typed="tags", empty=TAGS, begun=begun)
        self.app.push_screen(page, given)

    def action_note(self) -> None:
        """Write a note on the run under the cursor."""
        from tuilab.tui.screens.asking import NoteScreen

        row = self.table.row
        if row is None or not row.run:
            self.say("No run here.")
            return

        def given(text: str | None) -> None:
            if text is not None:
                said = f"The note on {titled([row])} is " + ("kept." if text.strip() else "removed.")
                self._act(lambda: self._change(lambda s: s.note(row.run, text.strip()), lambda _: said))

        self.app.push_screen(NoteScreen(f"Note on {titled([row])}", row.line.note), given)

    def action_pin(self, kind: str) -> None:
        """Pin as ghost or as baseline, or unpin where all are pinned so already."""
        entries = self._chosen()
        if not entries:
            return
        new = "" if all(e.line.pinned == kind for e in entries) else kind
        what = titled(entries)
        said = {
            "": f"{what}: unpinned.",
            "ghost": f"{what}: pinned as ghost, drawn under live runs of the same workload, never pruned.",
            "baseline": f"{what}: pinned as baseline; other runs are compared with it (c), never pruned.",
        }[new]

        def call(store: Store) -> None:
            with store.at_once():
                for entry in entries:
                    store.pin(entry.run, new)

        async def act() -> None:
            await self._change(call, lambda _: said)
            await self._load_ghosts()

        self._act(act)

    def action_delete(self) -> None:
        """Delete; `u` brings back."""
        entries = self._chosen()
        if not entries:
            return
        lab_state = self.lab.state
        if lab_state.shown.running and any(e.run == lab_state.shown.run for e in entries):
            self.say("One of these is still running: stop it in the lab (x) before you delete it.", "warn")
            return

        async def act() -> None:
            call = partial(Store.soft_delete, runs=[e.run for e in entries], asked=True)
            await self._change(call, lambda _: f"Deleted: {titled(entries)}. u undoes it.")
            self.table.marked.clear()
            await self._load_ghosts()

        self._act(act)

    def action_undo(self) -> None:
        """Bring back what was deleted last."""

        def words(runs: list[str]) -> str:
            return f"Brought back: {plural(len(runs), 'run')}." if runs else "Nothing more to bring back."

        async def act() -> None:
            await self._change(Store.bring_back, words)
            await self._load_ghosts()

        self._act(act)

    def action_prune(self) -> None:
        """Delete old runs, once it is said how many."""
        from tuilab.tui.screens.prune import PruneScreen

        def given(found: PruneCandidates | None) -> None:
            if found is not None:
                going = CancellableProgress("Pruning")
                self._act(partial(self._prune_now, found, going), going)

        self.app.push_screen(PruneScreen(self.history), given)

    async def _prune_now(self, found: PruneCandidates, going: CancellableProgress) -> None:
        hidden = await self.history.do(lambda store: store.soft_delete(found.runs))
        self.table.marked.clear()
        self.reload()
        said = f"{plural(len(hidden), 'run')} deleted, {size(found.size)}. u brings them back for a week."

        def on(done: int, total: int) -> bool:
            going.at(done, total)
            return True

        try:
            gone = await self.history.do(lambda store: store.purge(going=on))
            await self.history.do(lambda store: store.compact())
        except Stopped:
            self.say(f"{said} Purging older deleted runs was stopped.", "warn")
            return
        more = f" {plural(gone, 'run')} deleted earlier: gone for good." if gone else ""
        self.say(said + more, "good")

    # Files

    def action_export(self) -> None:
        """Write runs into the current folder, in the formats of the lab."""
        from tuilab.lab.export import formats
        from tuilab.tui.screens.menu import MenuScreen

        entries = self._chosen()
        if not entries:
            return

        def given(key: str | None) -> None:
            if key == "svg":
                self.call_after_refresh(self._picture)
            elif key:
                going = CancellableProgress(f"Writing {titled(entries)}")
                self._act(partial(self._export, key, entries, going), going)

        title = f"Export {titled(entries)} to the current folder"
        self.app.push_screen(MenuScreen(title, formats(True)), given)

    def _picture(self) -> None:
        from tuilab.lab.export import free

        path = free(Path.cwd() / "tuilab-history.svg")
        try:
            path.write_text(self.app.export_screenshot(title="tuilab"), encoding="utf-8")
        except OSError as error:
            self.say(f"{path} could not be written: {error.strerror}", "bad")
        else:
            self.say(f"Written: {path}", "good")

    async def _export(self, key: str, entries: list[Entry], going: CancellableProgress) -> None:
        from tuilab.lab.export import write_kept

        presets = {p.name: p.claims for p in self.lab.state.presets}
        paths: list[Path] = []
        try:
            for done, entry in enumerate(entries):
                going.at(done, len(entries) if len(entries) > 1 else 0)
                claims = presets.get(entry.line.preset, ())
                call = partial(write_kept, key, entry.run, claims, Path.cwd(), going)
                paths.append(await self.history.do(call))
        except Stopped:
            self.say(f"Stopped: {len(paths)} of {plural(len(entries), 'file')} written.", "warn")
            return
        except KeyError:
            raise InputError("run", titled(entries), "one that is still in the history") from None
        files = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files in {Path.cwd()}"
        self.say(f"Written: {files}", "good")

    def action_import(self) -> None:
        """Import a recording."""
        from tuilab.tui.screens.menu import MenuScreen

        items = [Offer(str(path), path.name, size(path.stat().st_size)) for path in recordings(Path.cwd())]

        def given(words: str | None) -> None:
            if words:
                file = Path(words).expanduser()
                going = CancellableProgress(f"Importing {sanitize_line(file.name, 60)}")
                self._act(partial(self._import, file, going), going)

        typed = "or the path of a recording, then enter" if items else "the path of a recording, then enter"
        self.app.push_screen(MenuScreen("Import a recording", items, typed=typed, empty=IMPORTS), given)

    async def _import(self, file: Path, going: CancellableProgress) -> None:
        call = partial(take_in, file=file, going=going)
        found, new = await self.history.do(call)
        name = sanitize_line(file.name, 60)
        if found is None:
            self.say(f"{name}: stopped; {plural(new, 'run')} of it imported.", "warn")
        else:
            self.say(f"{name}: {plural(found, 'run')}, {new} of them new here.", "good")
        self.reload()

    async def _load_ghosts(self) -> None:
        """Draw the pinned runs under the live plot from now on."""
        self.lab.state.pinned = await self.history.do(ghosts)
        self.lab.changed(Change.LOOK)


def titled(entries: Sequence[Entry]) -> str:
    """`stft-small of 2026-01-05 10:00`, `3 runs`."""
    if len(entries) != 1:
        return plural(len(entries), "run")
    return f"{entries[0].name} of {entries[0].line.at[:16].replace('T', ' ')}"


def tags_of(line: str) -> list[str]:
    """The tags that a person typed, each once, as the store keeps them."""
    words = (sanitize_line(word, LONGEST_TAG).strip().lstrip("#").strip() for word in line.split(","))
    return list(dict.fromkeys(word for word in words if word))[:MOST_TAGS]
