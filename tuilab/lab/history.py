"""The history as its page uses it: a connection of its own, in a thread, call by call."""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from tuilab.analysis.answer import brief
from tuilab.analysis.compare import Across, ArmAcross, Figure, across, compare
from tuilab.analysis.words import plural
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
from tuilab.model.quantity import size
from tuilab.model.run import RunState
from tuilab.model.sanitize import sanitize_line

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
MOST_TAGS, LONGEST_TAG = 30, 64
STAYS = "Pinned and running runs are kept."


class Stopped(Exception):
    """A person stopped what was going on; its words say what was done before, if anything."""


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


# What a page does to runs. Each returns a sentence that says what it did, and raises sqlite3.Error.


def when(entry: Entry) -> str:
    """`2026-01-05 10:00`."""
    return entry.line.at[:16].replace("T", " ")


def titled(entries: Sequence[Entry]) -> str:
    """`stft-small of 2026-01-05 10:00`, `3 runs`."""
    if len(entries) != 1:
        return plural(len(entries), "run")
    return f"{entries[0].name} of {when(entries[0])}"


def tags_of(line: str) -> list[str]:
    """The tags that a person typed, each once, as the store keeps them."""
    words = (sanitize_line(word, LONGEST_TAG).strip().lstrip("#").strip() for word in line.split(","))
    return list(dict.fromkeys(word for word in words if word))[:MOST_TAGS]


def common_tags(entries: Sequence[Entry]) -> list[str]:
    """The tags that every one of these runs has."""
    return [tag for tag in entries[0].line.tags if all(tag in entry.line.tags for entry in entries)]


def retag(store: Store, entries: Sequence[Entry], after: Sequence[str]) -> str:
    """Take the tags that these runs have in common off them, but for those of `after`, and put these on."""
    before = common_tags(entries)
    with store.at_once():
        for entry in entries:
            for tag in [tag for tag in before if tag not in after]:
                store.tag(entry.run, tag, on=False)
            for tag in [tag for tag in after if tag not in before]:
                store.tag(entry.run, tag)
    return f"Tags of {titled(entries)}: {' '.join(f'#{tag}' for tag in after) or 'none'}"


def write_note(store: Store, entry: Entry, text: str) -> str:
    """Keep the note of a run, or remove it."""
    store.note(entry.run, text.strip())
    return f"The note on {titled([entry])} is {'kept' if text.strip() else 'removed'}."


PINNED = {
    "": "unpinned.",
    "ghost": "pinned as ghost, drawn under live runs of the same workload, never pruned.",
    "baseline": "pinned as baseline; other runs are compared with it (c), never pruned.",
}


def pin(store: Store, entries: Sequence[Entry], kind: str) -> str:
    """Pin as ghost or as baseline, or unpin where all are pinned so already."""
    new = "" if all(entry.line.pinned == kind for entry in entries) else kind
    with store.at_once():
        for entry in entries:
            store.pin(entry.run, new)
    return f"{titled(entries)}: {PINNED[new]}"


def delete(store: Store, entries: Sequence[Entry]) -> str:
    """Delete runs so that they can be brought back."""
    store.soft_delete([entry.run for entry in entries], asked=True)
    return f"Deleted: {titled(entries)}. u undoes it."


def undo(store: Store) -> str:
    """Bring back what was deleted last."""
    runs = store.bring_back()
    return f"Brought back: {plural(len(runs), 'run')}." if runs else "Nothing more to bring back."


async def prune(history: HistoryClient, found: PruneCandidates, going: CancellableProgress) -> str:
    """Delete these, and remove for good what was deleted long ago. Raises Stopped once they are deleted."""

    def on(done: int, total: int) -> bool:
        going.at(done, total)
        return True

    hidden = await history.do(lambda store: store.soft_delete(found.runs))
    said = f"{plural(len(hidden), 'run')} deleted, {size(found.size)}. u brings them back for a week."
    try:
        gone = await history.do(lambda store: store.purge(going=on))
        await history.do(lambda store: store.compact())
    except Stopped:
        raise Stopped(f"{said} Purging older deleted runs was stopped.") from None
    return said + (f" {plural(gone, 'run')} deleted earlier: gone for good." if gone else "")


def pruning(found: PruneCandidates) -> str:
    """How many runs a prune would delete, how much space, and for how long they can be brought back."""
    if not found.runs:
        return f"No run is that old, and the size is within the limit. {STAYS}"
    many = plural(len(found.runs), "run")
    return (
        f"{many} with {size(found.size)} of events would be deleted. {STAYS} u brings them back; after "
        f"{UNDO_DAYS:.0f} days a prune removes them for good and frees their space for new runs."
    )


def take_in(store: Store, file: Path, going: CancellableProgress) -> str:
    """Import a recording. Raises Stopped, and what `import_runs` does."""
    before, name = browse.extent(store).runs, sanitize_line(file.name, 60)
    try:
        found = len(import_runs(store, file, going.at))
    except Stopped:
        new = browse.extent(store).runs - before
        raise Stopped(f"{name}: stopped; {plural(new, 'run')} of it imported.") from None
    return f"{name}: {plural(found, 'run')}, {browse.extent(store).runs - before} of them new here."
