"""Imports runs from a recording or a worker's spool."""

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from tuilab.history.recording import read
from tuilab.history.runs import count_rounds
from tuilab.history.store import Store
from tuilab.model import events as e
from tuilab.model.errors import CannotBeReadError, InputError

BATCH = 2_000
BROKEN_OFF = "interrupted: its lab and worker ended before the run"


def import_file(
    store: Store, file: Path, at: Callable[[int, int], None] = lambda done, total: None
) -> dict[str, bool]:
    """Add the runs of a recording to the store. Return their ids, each with True if the store changed.

    If the store already has a run, the file's events replace the stored ones only if the file has more
    rounds. A deleted run is restored. at: called with the number of events read; if `at` raises, the import
    is cancelled, and everything that was added so far is removed. Raises InputError if the file is not a
    recording, or contains a different run with the same id.
    """
    staged: dict[str, _Staged] = {}
    try:
        for event in _count_events(read(file), at):
            run = getattr(event, "run", "")
            if isinstance(event, e.RunStarted) and run and run not in staged:
                _check_name(store, event, file)
                staged[run] = _Staged(store, event)
            if run in staged and not isinstance(event, e.Progress):
                staged[run].add(event)
        if not staged:
            raise InputError(str(file), "a file without a run", "a recording with at least one run")
        changed = {run: some.finish(file.name) for run, some in staged.items()}
    except BaseException:
        for some in staged.values():
            some.drop()
        raise
    return changed


def _check_name(store: Store, started: e.RunStarted, file: Path) -> None:
    store.purge_staged(started.run)
    if store.next_number(started.run) and store.find_start(started.run) != (started.at, started.scenario):
        raise InputError(
            f"{file}: run {started.run}", "another run with that id", "a run that is not yet in the history"
        )


class _Staged:
    """A run that is being imported. A new run stays hidden until it is complete."""

    def __init__(self, store: Store, started: e.RunStarted) -> None:
        self._store, self._started = store, started
        self._new = not store.next_number(started.run) and not started.worker
        self._events: list[e.Event] = []
        self._lines: list[bytes] = []
        self._next = 0
        self._ended: e.Finished | None = None
        if self._new:
            store.stage(started)

    def add(self, event: e.Event) -> None:
        if isinstance(event, e.Finished):
            self._ended = event
        if not self._new:
            self._events.append(event)
            return
        self._lines.append(e.encode(event).rstrip())
        if len(self._lines) >= BATCH:
            self._write()

    def _write(self) -> None:
        self._store.append(self._started.run, self._next, self._lines)
        self._next += len(self._lines)
        self._lines = []

    def finish(self, source: str) -> bool:
        """Write the rest of the run. Restore the run if it was deleted. Return True if the store changed."""
        run = self._started.run
        if self._new:
            self._write()
            self._store.undelete(run)
            self._new = False
        else:
            gained = _take(self._store, self._events)
            hidden = self._store.undelete(run)
            if not gained:
                return hidden
        if self._ended is not None:
            self._store.conclude(run, self._ended.status, "")
        self._store.came_from(run, source)
        return True

    def drop(self) -> None:
        if self._new:
            with contextlib.suppress(sqlite3.Error):
                self._store.purge_staged(self._started.run)


def import_left(store: Store, file: Path, stopped: Collection[str] = ()) -> list[str]:
    """Import a run that a worker left behind, even from a truncated file. Return the ids of runs that gained
    rounds.

    Accepts a file without a run. stopped: ids of the runs that the user has stopped. Raises InputError if the
    file is not a recording, and CannotBeReadError if the system cannot read all of the file. In both cases,
    nothing is imported.
    """
    gained = []
    for run, events in _runs(_until_torn(read(file))).items():
        started, last = _find_start(events), events[-1]
        cut = e.Finished(run=run, status="failed", message=BROKEN_OFF)
        if run in stopped:
            cut = e.Finished(run=run, status="cancelled")
        if not isinstance(last, e.Finished):
            events.append(cut)
        elif last.status == "ok" and started.budget.workers > started.worker + 1:
            events[-1] = cut  # the process has ended, but the lab has started no further process
        ended = events[-1]
        assert isinstance(ended, e.Finished)
        if _take(store, events):
            gained.append(run)
            store.conclude(run, ended.status, "")
        elif store.status(run) is None:
            store.append(run, store.next_number(run), [e.encode(ended).rstrip()])
            store.conclude(run, ended.status, "")
            gained.append(run)
    return gained


def _take(store: Store, events: list[e.Event]) -> bool:
    """Replace the stored run if `events` contains more rounds. Return False if nothing was replaced.

    If the events come from a later worker of the run, the parts of earlier workers stay.
    """
    started, run = _find_start(events), _find_start(events).run
    kept = [line for _, line in store.raw(run)]
    before = kept[: _place(kept, started.worker)] if started.worker else []
    lines = [*before, *(e.encode(event).rstrip() for event in events)]
    if kept and count_rounds(lines) <= count_rounds(kept):
        return False
    store.replace(started, lines)
    return True


def _place(lines: list[bytes], worker: int) -> int:
    """Return the event number at which the worker's part of the run starts."""
    for number, line in enumerate(lines):
        if e.kind_of(line) == b"run-started":
            event = e.decode(line)
            if isinstance(event, e.RunStarted) and event.worker == worker:
                return number
    return len(lines)


def _find_start(events: list[e.Event]) -> e.RunStarted:
    assert isinstance(events[0], e.RunStarted)
    return events[0]


def _runs(events: Iterator[e.Event]) -> dict[str, list[e.Event]]:
    """Group the events by run. Omits runs whose start is not among the events."""
    runs: dict[str, list[e.Event]] = {}
    for event in events:
        run = getattr(event, "run", "")
        if isinstance(event, e.RunStarted) and run:
            runs.setdefault(run, []).append(event)
        elif run in runs and not isinstance(event, e.Progress):
            runs[run].append(event)
    return runs


def _count_events(events: Iterator[e.Event], at: Callable[[int, int], None]) -> Iterator[e.Event]:
    for number, event in enumerate(events):
        if number % 256 == 0:
            at(number, 0)
        yield event


def _until_torn(events: Iterator[e.Event]) -> Iterator[e.Event]:
    """Yield the events, except an unfinished last line from a worker that died.

    Raises InputError for an empty file.
    """
    some = False
    try:
        for event in events:
            yield event
            some = True
    except CannotBeReadError:
        raise  # a file that cannot be read is an error, unlike a truncated one
    except InputError:
        if not some:
            raise
