"""Saves a run's events as they arrive, even if the store is busy, full or gone."""

import os
import sqlite3
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tuilab.history import recording
from tuilab.history.connection import is_damage, is_stuck
from tuilab.history.recovery import renew, reopen, why_unwritable
from tuilab.history.store import Store
from tuilab.model import events as e
from tuilab.model.brief import Brief
from tuilab.spool import file_of

MOST_WAITING_BYTES = 256 * 2**20
PATIENCE = 10.0
"""Retry back-off, as a multiple of the duration of the failed attempt."""


@dataclass
class _Run:
    """A run that is being saved: pending events, and the next event's number.

    over: True if events are added after the run's stored end. empty: True if the run has no round yet. A run
    that is stopped before its first round, for example because a slider moves, is not saved. telling: True if
    the run has figures or facts.
    """

    started: e.RunStarted | None
    begun: bool = False
    over: bool = False
    empty: bool = False
    telling: bool = False
    next: int = 0
    waiting: deque[bytes] = field(default_factory=deque)
    ended: str = ""


class Recorder:
    """Writes each event as it arrives.

    Events that cannot be written stay in memory for a retry. problem: a description of the store's problem;
    empty if everything is written. reason: the cause in a few words. said: messages to the user about the
    recorder's actions.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = store
        self.problem = self.reason = ""
        self.said: list[str] = []
        self._clock = clock
        self._why = ""
        self.again = False
        self._again_at = float("-inf")
        self._runs: dict[str, _Run] = {}
        self._answers: dict[str, tuple[str, Brief | None]] = {}

    def record(self, event: e.Event) -> None:
        """Save an event of a run, except progress, which is not data."""
        run = getattr(event, "run", "")
        if not run or isinstance(event, e.Progress):
            return
        if isinstance(event, e.RunStarted) and run not in self._runs:
            self._runs[run] = _Run(event, empty=True)
        kept = self._runs.get(run)
        if kept is None and isinstance(event, e.Profiled | e.RoofsKnown):
            kept = self._again(run)
        if kept is None:
            return
        kept.waiting.append(e.encode(event).rstrip())
        if isinstance(event, e.Round):
            kept.empty = False
        kept.telling |= isinstance(event, e.Round) or (isinstance(event, e.Fact) and bool(event.text))
        if isinstance(event, e.Finished):
            # The worker finished normally, but reported no figures and no facts.
            nothing = event.status == "ok" and kept.started is not None and not kept.telling
            kept.ended = "failed" if nothing else event.status
            if kept.empty and kept.ended == "cancelled":
                del self._runs[run]
                return
            kept.empty = False
        if isinstance(event, e.Finished) or kept.over or self._clock() >= self._again_at:
            self.flush()

    def _again(self, run: str) -> _Run | None:
        """Return a stored run to which events will be added; None if the run is missing or unreadable."""
        try:
            number = self.store.next_number(run)
        except sqlite3.Error:
            return None
        if not number:
            return None
        return self._runs.setdefault(run, _Run(None, begun=True, over=True, next=number))

    def continue_run(self, run: str) -> None:
        """Continue a run that is already in the store. Raises sqlite3.Error."""
        self._runs[run] = _Run(None, begun=True, next=self.store.next_number(run))

    def conclude(self, run: str, answer: str, brief: Brief | None = None) -> None:
        self._answers[run] = answer, brief
        self.flush()

    @property
    def waiting(self) -> int:
        return sum(len(run.waiting) for run in self._runs.values())

    @property
    def pending(self) -> list[str]:
        return [name for name, run in self._runs.items() if run.waiting]

    def has_all(self, run: str) -> bool:
        return run not in self._runs

    def flush(self) -> bool:
        """Write pending events. Return False and set `problem` if the store cannot be written now."""
        begun = self._clock()
        if self.store.connection.is_gone and self._runs and self.recreate():
            return True
        try:
            self._write_all()
        except sqlite3.Error as error:
            lost = is_damage(error) or is_stuck(error)
            return (lost and self.recreate()) or self._failed(error, begun)
        self.problem = ""
        self._again_at = float("-inf")
        return True

    def _failed(self, error: sqlite3.Error, begun: float) -> bool:
        some = "1 event waits" if self.waiting == 1 else f"{self.waiting:,} events wait"
        file = self.store.file
        self.reason, self._why = self._why or (why_unwritable(file, error) if file else str(error)), ""
        self.problem = f"the history is not writable ({self.reason}); {some} in memory"
        self._again_at = self._clock() + PATIENCE * (self._clock() - begun)
        self._bound()
        return False

    def _write_all(self) -> None:
        for name in list(self._runs):
            run = self._runs[name]
            if run.empty:
                continue
            self._write(name, run)
            if run.ended or run.over:
                del self._runs[name]
        for name in list(self._answers):
            self.store.answer(name, *self._answers[name])
            del self._answers[name]

    def _write(self, name: str, run: _Run) -> None:
        if run.waiting:
            self.store.append(name, run.next, list(run.waiting), None if run.begun else run.started)
            run.next += len(run.waiting)
            run.begun = True
            run.waiting.clear()
        if run.ended:
            self.store.conclude(name, run.ended)

    def recreate(self) -> bool:
        """Continue after damage, with the same file if that file is undamaged, or else with a new file.

        A new file gets the readable events of the current runs.
        """
        if self.store.file is None:
            return False
        try:
            if reopen(self.store):
                self._write_all()
                self.said.append("the history was briefly unreadable; it is intact and still in use")
                self.problem, self.again = "", True
                return True
        except OSError as error:
            self._why = error.strerror or str(error)
            return False
        except sqlite3.Error as error:
            if not is_damage(error):
                return False
        self.again = False
        written = {name: self._stored_lines(name) for name in self._runs}
        try:
            self.said.append(renew(self.store))
            for name, run in self._runs.items():
                run.waiting.extendleft(reversed(written[name]))
                run.begun, run.next = run.started is None, 0
            self._write_all()
        except (sqlite3.Error, OSError):
            return False
        self.problem = ""
        return True

    def _stored_lines(self, run: str) -> list[bytes]:
        try:
            return [line for _, line in self.store.raw(run)]
        except sqlite3.Error:
            return []

    def _bound(self) -> None:
        """Limit the memory for pending events.

        If a run has more pending bytes than `MOST_WAITING_BYTES`, drops all pending events of this run except
        its start, rounds and end.
        """
        for run in self._runs.values():
            if sum(map(len, run.waiting)) > MOST_WAITING_BYTES:
                kept = (b"run-started", b"round", b"finished")
                run.waiting = deque(line for line in run.waiting if e.kind_of(line) in kept)

    def close(self, spool: str = "") -> str:
        """Write pending events and close the store. Return a message for the user, "" if everything is
        written.

        Events that cannot be stored go to a temporary file for a later import. spool: the folder in which
        workers have saved their runs.
        """
        try:
            if self.flush() and self.store.file is not None:
                return ""
            return self._rescue(spool)
        finally:
            self.store.close()

    def _rescue(self, spool: str) -> str:
        runs = self._runs if self.store.file is not None else self._in_memory()
        if not runs:
            return self.problem
        try:
            fd, name = tempfile.mkstemp(prefix="tuilab-runs-", suffix=".jsonl")
            os.close(fd)
            recording.write_lines(Path(name), self._all_lines(runs))
        except OSError as error:
            why = self.problem or "the runs were in memory only"
            if spool and all(file_of(spool, run).exists() for run in runs):
                return f"{why}; the runs are saved in {spool}, and the next start adds them to the history"
            return f"{why}; the runs are lost: {error.strerror}"
        why = self.problem or "the history could not be written anywhere"
        return f"{why}; the missing data is saved in {name}; tuilab history import adds it"

    def _all_lines(self, runs: dict[str, _Run]) -> Iterator[bytes]:
        for name, run in runs.items():
            written = self._stored_lines(name)
            if not written and run.begun and run.started is not None:
                written = [e.encode(run.started).rstrip()]
            yield from written
            yield from run.waiting

    def _in_memory(self) -> dict[str, _Run]:
        try:
            names: Iterable[str] = [line.run for line in self.store.runs()]
        except sqlite3.Error:
            names = ()
        return {**{name: _Run(None) for name in names}, **self._runs}
