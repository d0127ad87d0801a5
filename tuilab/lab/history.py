"""Finds and changes saved runs, for commands, scripts and pages."""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec

from tuilab.analysis.compare import Across, ArmAcross, Comparison, Figure, across, compare
from tuilab.analysis.ranking import brief
from tuilab.history import browse, spool
from tuilab.history.browse import Entry, Extent
from tuilab.history.check import Checked, Repaired
from tuilab.history.check import check as verify
from tuilab.history.check import repair as recover
from tuilab.history.connection import is_damage, why_unread
from tuilab.history.imports import import_file
from tuilab.history.lines import RunLine
from tuilab.history.machine_summaries import latest
from tuilab.history.recording import write as write_recording
from tuilab.history.recovery import cramped, mark_recovered
from tuilab.history.runs import UNDO_DAYS, PruneCandidates
from tuilab.history.schema import OtherVersion
from tuilab.history.store import Store
from tuilab.lab.ghosts import ghost
from tuilab.lab.presets import claims_of
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.brief import Brief
from tuilab.model.errors import InputError, sqlite_code
from tuilab.model.events import Event
from tuilab.model.machine_summary import MachineSummary
from tuilab.model.moments import when
from tuilab.model.quantity import plural, size
from tuilab.model.run import RunState
from tuilab.model.sanitize import sanitize_line

__all__ = ["Across", "ArmAcross", "Entry", "Extent", "Figure", "PruneCandidates", "RunLine"]

T = TypeVar("T")

PATIENCE_MS = 2_000
"""Maximum time to wait for a lock that another program holds."""
LARGEST_BRIEF = 16 * 2**20
"""Size of a run's events, in bytes, above which its summary is computed only on request."""
PAGE = 100
MOST_FILES = 16
LARGEST_GHOST = 16 * 2**20
CHECK_EVERY = 256
MOST_TAGS, LONGEST_TAG = 30, 64
STAYS = "Pinned and running runs are kept."


def to_read() -> Store:
    """Open the user's history for reading, even if the file is currently read-only."""
    return Store.open(to_read=True)


def is_full(error: sqlite3.Error) -> bool:
    """Return whether the error was caused by a full disk."""
    return sqlite_code(error) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


class Stopped(Exception):
    """Raised if the user stopped an operation. The message describes the completed part, if any."""


class CancellableProgress:
    """Progress and stop flag of a long operation, shared by a page and the thread of the operation."""

    def __init__(self, what: str) -> None:
        self.what, self.done, self.total, self.note = what, 0, 0, ""
        self._stop = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def at(self, done: int, total: int = 0) -> None:
        """Update the progress. Raises Stopped if the user requested a stop."""
        self.done, self.total = done, total
        self.check()

    def check(self) -> None:
        if self.stopping:
            raise Stopped

    def words(self) -> str:
        """Return the progress as text, such as `Importing runs.jsonl, 3 of 20… {history.stop} stops`."""
        how = f", {self.done:,} of {self.total:,}" if self.total else f", {self.done:,}" if self.done else ""
        ending = "stopping" if self.stopping else "{history.stop} stops"
        return f"{self.what}{how}… {ending}{self.note}"


class History:
    """Finds, reads, tags, pins, deletes and restores saved runs.

    Call methods only in the thread that opened the store. Methods raise sqlite3.Error if the store is
    unusable.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def messages(self) -> Sequence[str]:
        """Messages for the user about problems with opening the history."""
        return self.store.messages

    @property
    def unread(self) -> Mapping[str, str]:
        """For each run in which damage was found while reading, a description of the damage."""
        return self.store.unread

    @property
    def version(self) -> int:
        """A number that changes when another connection or process changes the history."""
        return int(self.store.connection.execute("PRAGMA data_version").fetchone()[0])

    @property
    def takes_nothing(self) -> bool:
        """True if the history is not writable."""
        return self.store.unwritable is not None

    def entries(
        self, search: str = "", limit: int = 20, titles: Mapping[str, str] = MappingProxyType({})
    ) -> list[Entry]:
        """Return the latest runs that match every word of `search`.

        titles: preset titles by name; the search includes these titles.
        """
        return browse.page(self.store, search, titles=titles, limit=limit)

    def find(self, start: str, *, deleted: bool = False) -> RunLine:
        """Return the run whose id starts with `start`; `last` means the newest run. Raises InputError.

        deleted: search only the deleted runs; by default, only the runs that are not deleted.
        """
        if start == "last" and not deleted and (line := self.store.last()):
            return line
        try:
            return self.store.find(start, deleted=deleted)
        except KeyError:
            if start == "last" and not deleted:
                raise InputError("run", "last", "a run in the history, which is empty") from None
            of = "id of a deleted run" if deleted else "id from `tuilab history`"
            raise InputError("run", start, f"the beginning of exactly one {of}, or last") from None

    def state(self, start: str) -> RunState:
        """Return the state of the run whose id starts with `start`. Raises InputError."""
        return self.store.state(self.find(start).run)

    def compare(self, a: str, b: str) -> Comparison:
        """Compare two runs arm by arm, at each sweep point that both runs measured. Raises InputError."""
        return compare(self.state(a), self.state(b))

    def document(self, start: str, format: str) -> Iterator[str]:
        """Yield a report on a run, part by part, as markdown, html, csv or json. Raises InputError.

        The judged claims are those of the current version of the run's preset.
        """
        from tuilab.lab.results import document_of

        line = self.find(start)
        return document_of(format, self.store, line.run, claims_of(line.preset))

    def tag(self, runs: Iterable[str], put: Iterable[str] = (), take: Iterable[str] = ()) -> None:
        with self.store.at_once():
            for run in runs:
                for tag in take:
                    self.store.tag(run, tag, on=False)
                for tag in put:
                    self.store.tag(run, tag)

    def note(self, run: str, text: str) -> None:
        self.store.note(run, text.strip())

    def pin(self, runs: Iterable[str], kind: str) -> None:
        """Pin runs as `ghost` or `baseline`; "" unpins them. Pinned runs are never pruned."""
        with self.store.at_once():
            for run in runs:
                self.store.pin(run, kind)

    def delete(self, runs: Iterable[str]) -> None:
        """Delete runs. For a week, `undelete` can restore them."""
        self.store.soft_delete(runs, asked=True)

    def undelete(self, run: str = "last") -> list[str]:
        """Restore deleted runs and return their ids. Raises InputError.

        run: start of a deleted run's id; `last` restores the runs of the last deletion.
        """
        if run == "last":
            return self.store.undo_delete()
        found = self.find(run, deleted=True).run
        return [found] * self.store.undelete(found)

    def prunable(self, days: float | None = None, size: int | None = None) -> PruneCandidates:
        """Return the runs to delete: all runs older than `days`, and then the oldest runs until the rest
        takes at most `size` bytes.
        """
        return self.store.prune_candidates(days, size)

    def prune(self, found: PruneCandidates) -> list[str]:
        """Delete the runs found by `prunable` and return their ids. One call of `undelete` restores all of
        these runs.
        """
        return self.store.soft_delete(found.runs)

    @contextmanager
    def in_place(self, say: Callable[[str], None]) -> Iterator["History"]:
        """Close this history, and yield a history whose deletions shrink the file at once, even on a full
        disk. Meanwhile, a temporary copy of the file is kept elsewhere.

        say: called with a message that names this copy. Raises OSError if there is no space for the copy.
        """
        file = self.store.unwritable or self.store.file
        if file is None:
            raise InputError("history", "in memory", "a history stored in a file")
        self.store.close()
        with cramped(file) as (connection, copy):
            say(f"the disk is full, so the history is compacted in place; a copy is kept meanwhile as {copy}")
            yield History(Store(connection, file))

    def clean_up(
        self, going: Callable[[int, int], bool] = lambda done, total: True, *, for_good: bool = False
    ) -> int:
        """Permanently remove the runs that were deleted more than a week ago. Returns the number of removed
        runs.

        going: called with the number of runs removed so far and the total; if it returns False, the removal
        stops. for_good: remove all deleted runs, however recent.
        """
        gone = self.store.purge(going=going)
        if for_good:
            gone += self.store.purge(-1.0, going, ended=True)
        self.store.compact()
        return gone

    def save(self, start: str, file: Path) -> None:
        """Write a run's events to a file that can be imported or replayed. Raises InputError and OSError."""
        write_recording(file, self.store.events(self.find(start).run))

    def import_file(
        self, file: Path, at: Callable[[int, int], None] = lambda done, total: None
    ) -> dict[str, bool]:
        """Import the runs of a recording and compute their results. Returns, for each run id, whether the
        history changed.

        at: called with the number of finished runs and the total. Raises InputError.
        """
        from tuilab.lab.results import work_out

        runs = import_file(self.store, file, at)
        for run, changed in runs.items():
            if changed and (line := self.store.line(run)):
                work_out(self.store, run, claims_of(line.preset))
        return runs

    def check(self, file: Path | None = None, *, repair: bool = False) -> tuple[Checked, Repaired | None]:
        """Check every event in this history, or in `file`, a damaged history that was set aside.

        repair: also recover the readable events, and add those of `file` to this history. Raises
        InputError.
        """
        if self.store.file is None:
            raise InputError("tuilab history check", "in memory", "a history stored in a file")
        which = file or self.store.file
        try:
            report = verify(which)
            if report.findings and (why := why_unread(which)):
                raise OSError(0, why)
            if not repair or not (report.findings or file):
                return report, None
            if file is None:  # read the file again, because a temporary read error is not damage
                report = verify(which)
                return report, self._replaced(which) if report.findings else None
            done = recover(file, self.store.file)
            if done.lost:  # a second read found the same damage
                more = recover(file, self.store.file)
                runs, rounds = done.runs + more.runs, done.rounds + more.rounds
                done = msgspec.structs.replace(more, runs=runs, rounds=rounds)
            aside = (
                mark_recovered(file) if file.parent.absolute() == self.store.file.parent.absolute() else file
            )
            return report, msgspec.structs.replace(done, aside=aside)
        except (OSError, sqlite3.Error, OtherVersion) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InputError(str(which), why, "a readable history") from None

    def _replaced(self, file: Path) -> Repaired:
        self.store.close()
        try:
            return recover(file)
        finally:
            self.store.use(Store.at(file).connection)

    def machines(
        self, at: Callable[[int, int], None] = lambda done, total: None
    ) -> tuple[list[MachineSummary], str]:
        """Return a summary for each machine and preset, and the reason why summaries are missing ("" if
        complete).

        at: called with the number of finished runs and the total.
        """
        from tuilab.lab.machines import sum_up

        store = self.store.draft()
        problem = sum_up(store, at)
        return list(latest(store)), problem

    def check_ended(self, run: str) -> None:
        """Raise InputError if another program measures the run, given by its whole id."""
        file = self.store.file
        if file is not None and (pid := spool.measured_by(file.parent, run)):
            expected = f"a run that has ended; process {pid} is still measuring this one"
            raise InputError("run", run[:8], f"{expected} (`tuilab history unattended --stop` ends it)")

    def unattended(self, stop: bool = False) -> spool.Found | None:
        """Import the runs that continued after their lab had ended. Returns None for a history in memory.

        stop: end the runs that are still active.
        """
        if self.store.file is None:
            return None
        folder = self.store.file.parent
        found = spool.collect_all(self.store, folder)
        if stop and found.going_on:
            for pid in found.going_on.values():
                spool.stop(pid)
            found = spool.settle(self.store, folder, found)
        if found.finished:
            from tuilab.lab.results import work_out_unattended

            for run in found.finished:
                work_out_unattended(self.store, run, claims_of)
        return found

    def outcome(self, run: str) -> str:
        """Describe the result of a run that finished without its lab; "" if the run no longer exists."""
        line = self.store.line(run)
        return spool.outcome(self.store, line) if line is not None else ""


class HistoryClient:
    """Runs history queries in a thread, so that the screen stays responsive. Queries raise sqlite3.Error."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._own: History | None = None
        self._lock = threading.Lock()
        self._closed = False

    async def do(self, call: Callable[[History], T]) -> T:
        """Run `call` in a thread, or in the current thread for a store in memory. Returns the result of
        `call`.
        """
        if not self._store.has_second:
            return call(History(self._store))
        return await run_in_daemon_thread(self._with, call)

    def _with(self, call: Callable[[History], T]) -> T:
        with self._lock:
            try:
                if self._own is not None and self._own.store.connection.is_gone:
                    self._let_go()
                if self._own is None:
                    self._own = History(self._store.again())
                    self._own.store.connection.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
                return call(self._own)
            except sqlite3.Error:
                self._let_go()  # another process may replace the file before the next call
                raise
            finally:
                if self._closed:
                    self._let_go()

    def _let_go(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            own.store.close()

    def close(self) -> None:
        """Close the connection. If a call is active in another thread, the connection closes after it."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._let_go()
            finally:
                self._lock.release()


def trouble(error: sqlite3.Error) -> str:
    if is_damage(error):
        return f"The history is damaged ({error})."
    if "locked" in str(error) or "busy" in str(error):
        return "Another program is using the history; nothing was changed. Try again in a moment."
    return f"The history is currently unusable ({error}); nothing was changed."


def checked(events: Iterable[Event], going: CancellableProgress) -> Iterator[Event]:
    """Yield the events. Raises Stopped once the user has requested a stop."""
    for number, event in enumerate(events):
        if number % CHECK_EVERY == 0:
            going.check()
        yield event


def work_out(history: History, entry: Entry) -> Brief | None:
    """Compute and save a run's summary. Returns None if the run is too large."""
    if entry.line.size > LARGEST_BRIEF:
        return None
    try:
        found = brief(history.store.state(entry.run))
    except (ValueError, ArithmeticError):
        found = Brief(entry.line.rounds)  # the run stays in the history without a summary
    found = msgspec.structs.replace(found, rounds=entry.line.rounds)
    try:
        history.store.keep_brief(entry.run, found)
    except sqlite3.OperationalError:
        pass  # if no summary is saved, it is computed again the next time
    return found


def ghosts(history: History) -> list[RunState]:
    lines = [entry.line for entry in browse.pinned(history.store)]
    states = [history.store.state(line.run) for line in lines if line.size <= LARGEST_GHOST]
    return [ghost(state) for state in states if state.run and state.sweep is None]


def first_page(
    history: History, *, search: str, order: tuple[str, bool], place: int, titles: Mapping[str, str]
) -> tuple[Extent, int, list[Entry], int]:
    """Return the extent of the list, the number of the page that contains the row `place`, the runs on this
    page, and `place` itself, clipped to the list.
    """
    extent = browse.extent(history.store, search, titles)
    place = max(0, min(place, extent.runs - 1))
    number = place // PAGE
    return extent, number, page(history, search=search, order=order, number=number, titles=titles), place


def page(
    history: History, *, search: str, order: tuple[str, bool], number: int, titles: Mapping[str, str]
) -> list[Entry]:
    by, rising = order
    offset = number * PAGE
    return browse.page(
        history.store, search, titles=titles, order=by, rising=rising, limit=PAGE, offset=offset
    )


def compared(
    history: History, entries: list[Entry], going: CancellableProgress
) -> tuple[list[Entry], Across | None]:
    """Compare runs with the baseline among them, or with the first run if there is no baseline. A single run
    is compared with a pinned baseline of the same preset or workload.

    Returns the runs and their comparison, which is None for a single run without a baseline. Raises Stopped.
    """
    chosen = list(entries)
    if len(chosen) == 1:
        own = chosen[0]
        others = (
            e for e in browse.pinned(history.store, 100) if e.line.pinned == "baseline" and e.run != own.run
        )
        kin = [e for e in others if e.line.workload == own.line.workload]
        same = [e for e in kin if e.line.preset == own.line.preset]
        chosen = [*(same or kin)[:1], own]
    chosen.sort(key=lambda e: e.line.pinned != "baseline")  # the baseline comes first
    if len(chosen) < 2:
        return chosen, None
    states = []
    for done, entry in enumerate(chosen):
        going.at(done, len(chosen))
        states.append(history.store.state(entry.run, going.check))
    return chosen, across(states)


def recordings(folder: Path) -> list[Path]:
    """Return the recordings in a folder, newest first."""
    try:
        files = [path for path in folder.glob("*.jsonl") if path.is_file()]
        return sorted(files, key=lambda path: -path.stat().st_mtime)[:MOST_FILES]
    except OSError:
        return []


# Actions of the history page. Each action returns a sentence about its effect, and may raise sqlite3.Error.


def titled(entries: Sequence[Entry]) -> str:
    """Return `stft-small of 2026-01-05 10:00` for one run, and `3 runs` for several."""
    if len(entries) != 1:
        return plural(len(entries), "run")
    return f"{entries[0].name} of {when(entries[0].line.at)}"


def tags_of(line: str) -> list[str]:
    """Split text at commas into distinct tags without `#`."""
    words = (sanitize_line(word, LONGEST_TAG).strip().lstrip("#").strip() for word in line.split(","))
    return list(dict.fromkeys(word for word in words if word))[:MOST_TAGS]


def common_tags(entries: Sequence[Entry]) -> list[str]:
    return [tag for tag in entries[0].line.tags if all(tag in entry.line.tags for entry in entries)]


def retag(history: History, entries: Sequence[Entry], after: Sequence[str]) -> str:
    before = common_tags(entries)
    put, take = ([t for t in one if t not in other] for one, other in ((after, before), (before, after)))
    history.tag((entry.run for entry in entries), put, take)
    return f"Tags of {titled(entries)}: {' '.join(f'#{tag}' for tag in after) or 'none'}"


def write_note(history: History, entry: Entry, text: str) -> str:
    history.note(entry.run, text)
    return f"The note on {titled([entry])} is {'saved' if text.strip() else 'removed'}."


PINNED = {
    "": "unpinned.",
    "ghost": "pinned as ghost; drawn under live runs of the same workload, never pruned.",
    "baseline": "pinned as baseline; other runs are compared with it ({history.compare}), never pruned.",
}


def pin(history: History, entries: Sequence[Entry], kind: str) -> str:
    """Pin runs as `kind`; unpin them if all of them are already pinned as `kind`."""
    new = "" if all(entry.line.pinned == kind for entry in entries) else kind
    history.pin((entry.run for entry in entries), new)
    return f"{titled(entries)}: {PINNED[new]}"


def delete(history: History, entries: Sequence[Entry]) -> str:
    history.delete(entry.run for entry in entries)
    return f"Deleted: {titled(entries)}. {{history.undo}} undoes it."


def undo(history: History) -> str:
    runs = history.undelete()
    return f"Restored: {plural(len(runs), 'run')}." if runs else "Nothing left to restore."


async def prune(client: HistoryClient, found: PruneCandidates, going: CancellableProgress) -> str:
    """Delete the runs in `found`, and then permanently remove the runs that were deleted more than a week
    ago.

    Raises Stopped if the user stops the permanent removal; the runs in `found` stay deleted.
    """

    def on(done: int, total: int) -> bool:
        going.at(done, total)
        return True

    hidden = await client.do(lambda history: history.prune(found))
    deleted = f"{plural(len(hidden), 'run')} deleted, {size(found.size)}."
    text = deleted + " {history.undo} can restore them for a week."
    try:
        gone = await client.do(lambda history: history.clean_up(on))
    except Stopped:
        raise Stopped(f"{text} Purging older deleted runs was stopped.") from None
    return text + (f" Permanently removed {plural(gone, 'run')} deleted earlier." if gone else "")


def pruning(found: PruneCandidates) -> str:
    """Describe what `prune` would delete, and for how long the runs can be restored."""
    if not found.runs:
        return f"No run is that old, and the size is within the limit. {STAYS}"
    many = plural(len(found.runs), "run")
    return (
        f"{many} with {size(found.size)} of events would be deleted. {STAYS} {{history.undo}} restores "
        f"them; after {UNDO_DAYS:.0f} days, a prune removes them permanently and frees their space."
    )


def take_in(history: History, file: Path, going: CancellableProgress) -> str:
    """Import a recording and describe the result. Raises Stopped, and the errors of `History.import_file`."""
    name = sanitize_line(file.name, 60)
    try:
        return f"{name}: {imported(history.import_file(file, going.at))}"
    except Stopped:
        raise Stopped(f"{name}: stopped; no run was imported.") from None


def imported(runs: Mapping[str, bool]) -> str:
    """Describe an import, for example `3 runs imported`. runs: for each id, whether the history changed."""
    known = [run[:8] for run, changed in runs.items() if not changed]
    if len(known) < len(runs):
        more = f", {len(known)} already in the history" if known else ""
        return f"{plural(len(runs) - len(known), 'run')} imported{more}."
    which = f"run {known[0]} is" if len(known) == 1 else f"all {len(known)} runs are"
    return f"{which} already in the history; nothing changed."
