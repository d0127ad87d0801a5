"""What the keys of the history do to runs. Every act says what it did; a long one can be stopped."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from tuilab.analysis.compare import Across, across
from tuilab.analysis.words import plural
from tuilab.history import browse
from tuilab.history.browse import Entry
from tuilab.history.store import PruneCandidates, Store
from tuilab.lab.history import CancellableProgress, Stopped, ghosts, read, retag
from tuilab.model.errors import InputError
from tuilab.model.quantity import size
from tuilab.model.sanitize import sanitize_line

if TYPE_CHECKING:
    from tuilab.tui.screens.history import HistoryScreen

T = TypeVar("T")

SHOW_S = 0.25
MOST_TAGS, LONGEST_TAG = 30, 64
TAGS = "Separated by commas. A tag that is not in the line any more is taken off."


class HistoryActs:
    """The actions of `HistoryScreen`, and its answers to what the pages over it say."""

    going: CancellableProgress | None = None

    @property
    def _screen(self) -> "HistoryScreen":
        return cast("HistoryScreen", self)

    # How an act goes

    def _act(self, what: Callable[[], Awaitable[None]], going: CancellableProgress | None = None) -> None:
        """Do it beside the screen. going: of a long one, of which there is one at a time."""
        screen = self._screen
        if going is not None and self.going is not None:
            self.going.note = ". One at a time."  # stays, or the next report would take its place at once
            screen.say(self.going.words(), "warn")
            return
        screen.run_worker(self._done(what, going), exit_on_error=False)

    async def _done(self, what: Callable[[], Awaitable[None]], going: CancellableProgress | None) -> None:
        screen = self._screen
        self.going = going or self.going
        timer = screen.set_interval(SHOW_S, lambda: screen.say(going.words())) if going is not None else None
        if going is not None:
            screen.say(going.words())
        try:
            await what()
        except Stopped:
            screen.say(f"{going.what if going else 'It'}: stopped; nothing was changed.", "warn")
        except sqlite3.Error as error:
            screen.failed(error)
        except (InputError, OSError, ValueError) as error:
            screen.say(str(error), "bad")
        finally:
            if timer is not None:
                timer.stop()
                self.going = None

    async def _change(self, call: Callable[[Store], T], said: Callable[[T], str]) -> None:
        """Change the store, say what that did, and list again."""
        screen = self._screen
        done = await screen.ledger.do(call)
        screen.say(said(done), "good")
        screen.reload()

    def action_stop(self) -> None:
        """Stop what goes on."""
        if self.going is None:
            self._screen.say("Nothing goes on here.")
        else:
            self.going.stop()
            self._screen.say(self.going.words())

    def _chosen(self) -> list[Entry]:
        """The runs that an act is for; says so where there are none."""
        found = self._screen.table.chosen
        if not found:
            self._screen.say("There is no run here.")
        return found

    # Looking

    def action_again(self) -> None:
        """List again: another program may have added runs."""
        self._screen.reload()
        self._screen.say("Listed again.")

    def action_mark(self) -> None:
        """Mark the run under the cursor."""
        self._screen.table.action_mark()

    def action_help(self) -> None:
        """What this is, and its keys."""
        from tuilab.tui.screens.help import HelpScreen
        from tuilab.tui.screens.history_help import page

        self._screen.app.push_screen(HelpScreen(page(self._screen)))

    def action_replay(self) -> None:
        """Show the run under the cursor in the lab, as if it were live."""
        row = self._screen.table.row
        if row is None or not row.run:
            self._screen.say("There is no run here.")
        elif not row.line.rounds:
            self._screen.say(f"{titled([row])} has no round, so there is nothing to replay.", "warn")
        elif self._screen.lab.state.running:
            self._screen.say("A run goes on, which a replay would end: stop it in the lab (x) first.", "warn")
        else:
            self._screen.dismiss(row.run)

    def action_compare(self) -> None:
        """The marked runs side by side, or the one under the cursor with the baseline of its kind."""
        from tuilab.tui.screens.runs_compared import MOST

        entries = self._chosen()
        if len(entries) > MOST:
            self._screen.say(f"At most {MOST} runs are compared at once; {len(entries)} are marked.", "warn")
        elif entries:
            going = CancellableProgress("Reading " + plural(max(2, len(entries)), "run"))
            self._act(partial(self._compare, entries, going), going)

    async def _compare(self, entries: list[Entry], going: CancellableProgress) -> None:
        from tuilab.tui.screens.runs_compared import RunsCompared

        screen = self._screen
        chosen, found = await screen.ledger.do(partial(compared, entries=entries, going=going))
        if found is None:
            screen.say(
                "Mark two runs or more with space, then c. One run alone is compared with the baseline of "
                "its workload, and none is pinned (b).",
                "warn",
            )
            return
        screen.say("")
        screen.app.push_screen(RunsCompared(chosen, found))

    # Changing

    def action_tag(self) -> None:
        """Change the tags."""
        from tuilab.tui.screens.asking import LineScreen

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

        title = f"Tags of {titled(entries)}"
        self._screen.app.push_screen(LineScreen(title, ", ".join(common), TAGS), given)

    def action_note(self) -> None:
        """Write a note on the run under the cursor."""
        from tuilab.tui.screens.asking import NoteScreen

        row = self._screen.table.row
        if row is None or not row.run:
            self._screen.say("There is no run here.")
            return

        def given(text: str | None) -> None:
            if text is not None:
                said = f"The note on {titled([row])} is " + ("kept." if text.strip() else "taken away.")
                self._act(lambda: self._change(lambda s: s.note(row.run, text.strip()), lambda _: said))

        self._screen.app.push_screen(NoteScreen(f"Note on {titled([row])}", row.line.note), given)

    def action_pin(self, kind: str) -> None:
        """Pin as ghost or as baseline, or unpin where all are pinned so already."""
        entries = self._chosen()
        if not entries:
            return
        new = "" if all(e.line.pinned == kind for e in entries) else kind
        what = titled(entries)
        said = {
            "": f"{what}: not pinned any more.",
            "ghost": f"{what}: pinned as ghost, drawn under live runs of the same workload, never pruned.",
            "baseline": f"{what}: pinned as baseline; others are held against it (c), never pruned.",
        }[new]

        def call(store: Store) -> None:
            with store.at_once():
                for entry in entries:
                    store.pin(entry.run, new)

        async def act() -> None:
            await self._change(call, lambda _: said)
            await load_ghosts(self._screen)

        self._act(act)

    def action_delete(self) -> None:
        """Delete; `u` brings back."""
        entries, screen = self._chosen(), self._screen
        if not entries:
            return
        session = screen.lab.state
        if session.shown.running and any(e.run == session.shown.run for e in entries):
            screen.say("One of these goes on: stop it in the lab (x) before you delete it.", "warn")
            return

        async def act() -> None:
            call = partial(Store.soft_delete, runs=[e.run for e in entries], asked=True)
            await self._change(call, lambda _: f"Deleted: {titled(entries)}. u brings back.")
            screen.table.marked.clear()
            await load_ghosts(screen)

        self._act(act)

    def action_undo(self) -> None:
        """Bring back what was deleted last."""

        def words(runs: list[str]) -> str:
            return f"Brought back: {plural(len(runs), 'run')}." if runs else "Nothing is left to bring back."

        async def act() -> None:
            await self._change(Store.bring_back, words)
            await load_ghosts(self._screen)

        self._act(act)

    def action_prune(self) -> None:
        """Delete old runs, once it is said how many."""
        from tuilab.tui.screens.prune import PruneScreen

        def given(found: PruneCandidates | None) -> None:
            if found is not None:
                going = CancellableProgress("Pruning")
                self._act(partial(self._prune, found, going), going)

        self._screen.app.push_screen(PruneScreen(self._screen.ledger), given)

    async def _prune(self, found: PruneCandidates, going: CancellableProgress) -> None:
        screen = self._screen
        hidden = await screen.ledger.do(lambda store: store.soft_delete(found.runs))
        screen.table.marked.clear()
        screen.reload()
        said = f"{plural(len(hidden), 'run')} deleted, {size(found.size)}. u brings them back for a week."

        def on(done: int, total: int) -> bool:
            going.at(done, total)
            return True

        try:
            gone = await screen.ledger.do(lambda store: store.purge(going=on))
        except Stopped:
            screen.say(f"{said} Taking away what had been deleted before was stopped.", "warn")
            return
        more = f" {plural(gone, 'run')} that had been deleted before is gone for good." if gone else ""
        screen.say(said + more, "good")


def compared(
    store: Store, entries: list[Entry], going: CancellableProgress
) -> tuple[list[Entry], Across | None]:
    """These runs held against the baseline among them, else the first; one alone against its baseline.

    None where there is nothing to compare it with. Raises Stopped.
    """
    chosen = list(entries)
    if len(chosen) == 1:
        own = chosen[0]
        others = (e for e in browse.pinned(store, 100) if e.line.pinned == "baseline" and e.run != own.run)
        kin = [e for e in others if e.line.workload == own.line.workload]
        same = [e for e in kin if e.line.preset == own.line.preset]
        chosen = [*(same or kin)[:1], own]
    chosen.sort(key=lambda e: e.line.pinned != "baseline")  # what the others are held against comes first
    if len(chosen) < 2:
        return chosen, None
    states = []
    for done, entry in enumerate(chosen):
        going.at(done, len(chosen))
        states.append(read(store, entry.run, going))
    return chosen, across(states)


async def load_ghosts(screen: "HistoryScreen") -> None:
    """Draw the pinned runs under the live plot from now on."""
    from tuilab.lab.changes import Change

    screen.lab.state.pinned = await screen.ledger.do(ghosts)
    screen.lab.changed(Change.LOOK)


def titled(entries: Sequence[Entry]) -> str:
    """`stft-small of 2026-01-05 10:00`, `3 runs`."""
    if len(entries) != 1:
        return plural(len(entries), "run")
    return f"{entries[0].name} of {entries[0].line.at[:16].replace('T', ' ')}"


def tags_of(line: str) -> list[str]:
    """The tags that a person typed, each once, as the store keeps them."""
    words = (sanitize_line(word, LONGEST_TAG).strip().lstrip("#").strip() for word in line.split(","))
    return list(dict.fromkeys(word for word in words if word))[:MOST_TAGS]
