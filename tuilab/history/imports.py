"""Taking runs in: from a recording, and from what a worker left."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tuilab.history.recording import read
from tuilab.history.store import Store, count_rounds
from tuilab.model import events as e
from tuilab.model.errors import InputError

BROKEN_OFF = "broken off: its lab and its worker ended before it did"


def import_file(
    store: Store, file: Path, at: Callable[[int, int], None] = lambda done, total: None
) -> list[str]:
    """Add the runs of a recording to the store; returns their ids.

    A run that is there already gets the file's events where the file has more of its rounds, and keeps its
    own otherwise. at: told how many events are read, then how many runs are taken in, of how many; what it
    raises ends the import, and the runs that were taken in stay. Raises InputError where the file is no
    recording, or has another run of the same name.
    """
    runs = _runs(_counted(read(file), at))
    if not runs:
        raise InputError(str(file), "no run in it", "a recording with at least one run")
    for done, (run, events) in enumerate(runs.items()):
        at(done, len(runs))
        started = _started(events)
        if store.next_number(run) and store.started(run) != (started.at, started.scenario):
            raise InputError(f"{file}: run {run}", "another run of that name", "a run that is not there yet")
        if _take(store, events):
            ended = next((event for event in reversed(events) if isinstance(event, e.Finished)), None)
            if ended is not None:
                store.conclude(run, ended.status, "")
            store.came_from(run, file.name)
    return list(runs)


def import_left(store: Store, file: Path) -> list[str]:
    """Take in a run that a worker left, whatever the file ends with; ids of those that gained by it.

    A file without any run holds nothing that is missed. Raises InputError where it is no recording.
    """
    gained = []
    for run, events in _runs(_until_torn(read(file))).items():
        if not isinstance(events[-1], e.Finished):
            events.append(e.Finished(run=run, status="failed", message=BROKEN_OFF))
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
    """Replace what the store has of a run, where these events have more rounds of it; False if they do not.

    The events may be those of a later one of several workers: then what came before it stays.
    """
    started, run = _started(events), _started(events).run
    kept = [line for _, line in store.raw(run)]
    before = kept[: _place(kept, started.worker)] if started.worker else []
    lines = [*before, *(e.encode(event).rstrip() for event in events)]
    if kept and count_rounds(lines) <= count_rounds(kept):
        return False
    store.replace(started, lines)
    return True


def _place(lines: list[bytes], worker: int) -> int:
    """Where the part of a run begins that its worker of that number measured."""
    for number, line in enumerate(lines):
        if b'"type":"run-started"' in line[:40]:
            event = e.decode(line)
            if isinstance(event, e.RunStarted) and event.worker == worker:
                return number
    return len(lines)


def _started(events: list[e.Event]) -> e.RunStarted:
    assert isinstance(events[0], e.RunStarted)
    return events[0]


def _runs(events: Iterator[e.Event]) -> dict[str, list[e.Event]]:
    """The events of each run that begins in them."""
    runs: dict[str, list[e.Event]] = {}
    for event in events:
        run = getattr(event, "run", "")
        if isinstance(event, e.RunStarted) and run:
            runs.setdefault(run, []).append(event)
        elif run in runs and not isinstance(event, e.Progress):
            runs[run].append(event)
    return runs


def _counted(events: Iterator[e.Event], at: Callable[[int, int], None]) -> Iterator[e.Event]:
    for number, event in enumerate(events):
        if number % 256 == 0:
            at(number, 0)
        yield event


def _until_torn(events: Iterator[e.Event]) -> Iterator[e.Event]:
    """The events up to a line that a dying worker did not finish. A file without any is no recording."""
    some = False
    try:
        for event in events:
            yield event
            some = True
    except InputError:
        if not some:
            raise
