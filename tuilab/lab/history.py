"""The history as its page uses it: a connection of its own, in a thread, call by call."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from tuilab.analysis.answer import brief
from tuilab.analysis.compare import Across, ArmAcross, Figure, across, compare
from tuilab.history import browse, check, spool
from tuilab.history.browse import Entry, Extent
from tuilab.history.imports import import_file
from tuilab.history.lines import RunLine
from tuilab.history.recording import write as write_recording
from tuilab.history.schema import is_damage
from tuilab.history.store import UNDO_DAYS, PruneCandidates, Store
from tuilab.lab.state import ghost
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.brief import Brief
from tuilab.model.errors import InputError
from tuilab.model.events import Event
from tuilab.model.run import RunState

__all__ = [
    "UNDO_DAYS",
    "Across",
    "ArmAcross",
    "Entry",
    "Extent",
    "Figure",
    "PruneCandidates",
    "RunLine",
    "Store",
    "check",
    "compare",
    "import_runs",
    "is_damage",
    "spool",
    "write_recording",
]

T = TypeVar("T")

PATIENCE_MS = 2_000
"""How long a call waits for another program's lock: nobody waits for it but the page's own line."""
LARGEST_BRIEF = 16 * 2**20
"""Bytes of events beyond which a run's line is not worked out unasked."""
PAGE = 100
"""Runs that a list reads at once."""
MOST_FILES = 16
LARGEST_GHOST = 16 * 2**20
CHECK_EVERY = 256


class Stopped(Exception):
    """A person stopped what was going on."""


class CancellableProgress:
    """Whether a long act is to go on, and how far it is. Shared by the page and the act's thread.

    note: what is said behind how far it is.
    """

    def __init__(self, what: str) -> None:
        self.what, self.done, self.total, self.note = what, 0, 0, ""
        self._stop = threading.Event()

    def stop(self) -> None:
        """Ask it to end."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        """It was asked to end."""
        return self._stop.is_set()

    def at(self, done: int, total: int = 0) -> None:
        """So far it is. Raises Stopped where it was asked to end."""
        self.done, self.total = done, total
        self.check()

    def check(self) -> None:
        """Raises Stopped where it was asked to end."""
        if self.stopping:
            raise Stopped

    def words(self) -> str:
        """`Importing runs.jsonl, 3 of 20; x stops`."""
        how = f", {self.done:,} of {self.total:,}" if self.total else f", {self.done:,}" if self.done else ""
        return f"{self.what}{how}… {'stopping' if self.stopping else 'x stops'}{self.note}"


class HistoryClient:
    """Calls on a store that the screen does not wait for. They raise what the call raises: sqlite3.Error."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._own: Store | None = None
        self._lock = threading.Lock()
        self._closed = False

    async def do(self, call: Callable[[Store], T]) -> T:
        """The answer of `call`, from a thread; a store in memory, with its one connection, is asked here."""
        if self._store.file is None:
            return call(self._store)
        return await run_in_daemon_thread(self._with, call)

    def _with(self, call: Callable[[Store], T]) -> T:
        with self._lock:
            try:
                if self._own is None:
                    self._own = self._store.again()
                    self._own.connection.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
                return call(self._own)
            except sqlite3.Error:
                self._let_go()  # the file may be another one by the next call
                raise
            finally:
                if self._closed:
                    self._let_go()

    def _let_go(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            own.close()

    def close(self) -> None:
        """Close the connection, or have the call under way close it."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._let_go()
            finally:
                self._lock.release()


def trouble(error: sqlite3.Error) -> str:
    """What a person is told of an error of the store."""
    if is_damage(error):
        return f"The history is damaged ({error})."
    if "locked" in str(error) or "busy" in str(error):
        return "Another program is using the history; nothing was changed. Try again in a moment."
    return f"The history cannot be used now ({error}); nothing was changed."


def checked(events: Iterable[Event], going: CancellableProgress) -> Iterator[Event]:
    """The events, as long as they are wanted. Raises Stopped."""
    for number, event in enumerate(events):
        if number % CHECK_EVERY == 0:
            going.check()
        yield event


def work_out(store: Store, entry: Entry) -> Brief | None:
    """A run's line from its events, kept where the store takes it; null for one that is too large."""
    if entry.line.size > LARGEST_BRIEF:
        return None
    try:
        found = brief(store.state(entry.run))
    except (ValueError, ArithmeticError):
        found = Brief(entry.line.rounds)  # a run that cannot be summed up is in the history all the same
    found = msgspec.structs.replace(found, rounds=entry.line.rounds)
    try:
        store.keep_brief(entry.run, found)
    except sqlite3.OperationalError:
        pass  # it is worked out again another time
    return found


def ghosts(store: Store) -> list[RunState]:
    """The latest pinned runs as they are drawn under others."""
    lines = [entry.line for entry in browse.pinned(store)]
    states = [store.state(line.run) for line in lines if line.size <= LARGEST_GHOST]
    return [ghost(state) for state in states if state.run and state.sweep is None]


def retag(store: Store, runs: Sequence[str], before: Sequence[str], after: Sequence[str]) -> None:
    """Take the tags of `before` that `after` has not off these runs, and put the new ones on."""
    with store.at_once():
        for run in runs:
            for tag in [tag for tag in before if tag not in after]:
                store.tag(run, tag, on=False)
            for tag in [tag for tag in after if tag not in before]:
                store.tag(run, tag)


def find(store: Store, start: str) -> RunLine:
    """The run whose id begins so; `last` is the latest. Raises InputError."""
    if start == "last":
        for line in store.runs(limit=1):
            return line
    try:
        return store.find(start)
    except KeyError:
        expected = "the beginning of exactly one id from `tuilab history`, or last"
        raise InputError("run", start, expected) from None


def first_page(
    store: Store, *, search: str, order: tuple[str, bool], place: int, titles: Mapping[str, str]
) -> tuple[Extent, int, list[Entry], int]:
    """How much there is, and the page with the cursor in it."""
    extent = browse.extent(store, search, titles)
    place = max(0, min(place, extent.runs - 1))
    number = place // PAGE
    return extent, number, page(store, search=search, order=order, number=number, titles=titles), place


def page(
    store: Store, *, search: str, order: tuple[str, bool], number: int, titles: Mapping[str, str]
) -> list[Entry]:
    """One page of the runs that `search` finds."""
    by, rising = order
    offset = number * PAGE
    return browse.page(store, search, titles=titles, order=by, rising=rising, limit=PAGE, offset=offset)


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
        states.append(store.state(entry.run, going.check))
    return chosen, across(states)


def take_in(store: Store, file: Path, going: CancellableProgress) -> tuple[int | None, int]:
    """Import a recording: how many runs it holds, null where it was stopped before, and how many are new."""
    before, found = browse.extent(store).runs, None
    with contextlib.suppress(Stopped):
        found = len(import_runs(store, file, going.at))
    return found, browse.extent(store).runs - before


def import_runs(
    store: Store, file: Path, at: Callable[[int, int], None] = lambda done, total: None
) -> list[str]:
    """Import the runs of a recording as `import_file` does, and work out what each came to."""
    from tuilab.lab.results import work_out
    from tuilab.lab.settings import claims_of

    runs = import_file(store, file, at)
    for run in runs:
        work_out(store, run, claims_of(store.find(run).preset))
    return runs


def recordings(folder: Path) -> list[Path]:
    """The recordings in a folder, the latest first."""
    try:
        files = [path for path in folder.glob("*.jsonl") if path.is_file()]
        return sorted(files, key=lambda path: -path.stat().st_mtime)[:MOST_FILES]
    except OSError:
        return []
