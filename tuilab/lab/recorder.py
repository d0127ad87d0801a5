"""Saves every run while it is measured, and reports a failure to save."""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from tuilab.analysis.ranking import brief, marked_name
from tuilab.analysis.reading import measured
from tuilab.history import browse, spool
from tuilab.history.recorder import Recorder
from tuilab.history.store import Store
from tuilab.lab.state import LabState
from tuilab.model.claims import Claim
from tuilab.model.events import Event, Finished, Progress, RunsAlike, RunStarted, encode
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.spool import Spool, file_of, folder

RETRY_S = 1.0
LOOK_S = 2.0
"""Seconds between checks for the end of a background run."""


def shortened(place: str) -> str:
    home = os.path.expanduser("~")
    return "~" + place.removeprefix(home) if place.startswith(home + os.sep) else place


class RunRecorder:
    """Saves every worker event and, at the end of a run, its answer and summary."""

    def __init__(
        self,
        state: LabState,
        say: Callable[[str], None],
        store: Store | None = None,
    ) -> None:
        self.store = store or Store.open()
        self._recorder = Recorder(self.store)
        self._state, self._say = state, say
        self._failing = self._closed = self._going_on = False
        self._retry: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._spooled: set[str] = set()
        self._kept: dict[str, Spool] = {}
        self._displaced: set[str] = set()
        self._messages: list[str] = []
        self.notices: list[str] = list(self.store.messages)
        """Messages about the history to show at startup."""
        self.spool = self._find_unattended()
        """Folder in which workers save a run until the history contains the run; "" if there is no folder."""

    def _find_unattended(self) -> str:
        """Import runs that finished after their lab had ended. Returns the folder in which workers save
        runs.
        """
        file = self.store.file or self.store.unwritable
        data = file.parent if file is not None else self.store.home
        if data is None:
            return ""
        try:
            place = str(folder(data))
        except OSError as error:
            if file is not None:
                self.notices.append(f"cannot look for runs that continued in the background ({error})")
            return ""
        if self.store.file is None:
            return place
        try:
            found, self.notices = self._collect(data, place), [*self.notices, *self._messages]
        except (OSError, sqlite3.Error) as error:
            self.notices.append(f"cannot look for runs that continued in the background ({error})")
            return place
        for run, pid in found.going_on.items():
            self.notices.append(
                f"run {run[:8]} is still running in the background, in process {pid}; tuilab "
                f"history unattended --stop stops it"
            )
        for run, host in found.elsewhere.items():
            self.notices.append(f"run {run[:8]} is running in the background on {host}")
        self.notices += found.problems
        self._look_later(data, place)
        return place

    def _collect(self, data: Path, place: str) -> spool.Found:
        """Import runs that finished without a lab, and record which runs are still being measured."""
        found = spool.collect_all(self.store, data)
        self._messages = [words for run in found.finished if (words := self._about(run))]
        files = {run: file for run in found.going_on if (file := spool.file_in(place, run))}
        self._state.background, self._going_on = files, bool(found.going_on)
        return found

    def _look_later(self, data: Path, place: str) -> None:
        """Check every `LOOK_S` seconds whether background runs have ended, until all have ended."""
        # A command has no event loop and does not wait for background runs.
        with contextlib.suppress(RuntimeError):
            if self._going_on and not self._closed:
                loop = asyncio.get_running_loop()
                self._looking = loop.call_later(LOOK_S, self._look_again, data, place)

    def _look_again(self, data: Path, place: str) -> None:
        with contextlib.suppress(OSError, sqlite3.Error):  # the next check tries again
            self._collect(data, place)
            for words in self._messages:
                self._say(words)
        self._look_later(data, place)

    def _about(self, run: str) -> str:
        """Save the answer of a run that continued after its lab had ended. Returns a description of the
        outcome.
        """
        from tuilab.lab.results import work_out_unattended

        line = work_out_unattended(self.store, run, self._state.claims_of)
        if line is None:  # another program has removed the run
            return ""
        if line.status == "ok" and not self.store.deleted(run):
            self._state.from_background = line.preset or line.workload
        return spool.outcome(self.store, line)

    def receive(self, event: Event) -> None:
        self.record(event)
        shown = self._state.shown
        if isinstance(event, Finished) and event.run == shown.run and self._state.result() is not None:
            self.conclude(shown, self._state.claims_of(shown.preset))
        if isinstance(event, Finished) or bool(self._recorder.problem) != self._failing:
            self._look()
        elif isinstance(event, RunStarted) or self._failing:
            self._state.unkept = self.unkept

    def record(self, event: Event) -> None:
        """Save an event of any run, including runs that the state does not follow, such as the runs of a
        fleet.
        """
        run = getattr(event, "run", "")
        if isinstance(event, RunStarted) and self.spool and run not in self._spooled:
            self._spooled.add(run)
            # A local worker has already created its file in this folder. A remote worker cannot use this
            # folder.
            if not file_of(self.spool, run).exists():
                self._kept[run] = Spool(run, self.spool, finish=False, reader=os.getpid())
        if isinstance(event, RunStarted):
            self._state.from_background = ""
        if isinstance(event, RunStarted) and self.store.displaced:
            self._displaced.add(run)
        if run in self._kept and not isinstance(event, Progress):
            self._kept[run].add(encode(event))
        self._recorder.record(event)

    def alike(self, run: RunState) -> RunsAlike | None:
        """Return the range of the medians of this run and of earlier similar runs on this machine.

        Returns None if there is no similar run, for a sweep, and for the user's own code, which may change
        between runs.
        """
        line = brief(run)
        arm = next((arm.arm.id for arm in measured(run, 0) if marked_name(run, arm, 0) == line.fastest), "")
        if not arm or line.median_s is None or run.sweep or run.scenario is None or run.scenario.file:
            return None
        try:
            others = browse.medians_alike(self.store, run, line.fastest)
        except sqlite3.Error:
            return None
        if not others:
            return None
        medians = [line.median_s, *others]
        return RunsAlike(run=run.run, arm=arm, runs=len(medians), low_s=min(medians), high_s=max(medians))

    def conclude(self, run: RunState, claims: Sequence[Claim]) -> RunResult:
        from tuilab.analysis.summary import summarise

        result = summarise(run, claims)
        self._recorder.conclude(run.run, result.answer, brief(run))
        if self._recorder.has_all(run.run) and not self._recorder.problem:
            from tuilab.lab.results import keep_result

            keep_result(self.store, run.run, claims, run, result)
        return result

    def go_on(self, run: str) -> None:
        """Append further events to a run that is already in the store. Raises sqlite3.Error."""
        self._recorder.continue_run(run)

    @property
    def unkept(self) -> str:
        """Why runs are not in the history, and where their data is; "" if every run is saved."""
        runs = self._recorder.pending if self._recorder.problem else [*self._displaced]
        if not runs:
            return ""
        spooled = self.spool and all(file_of(self.spool, run).exists() for run in runs)
        if self.store.displaced and self.store.file is not None and not self._recorder.problem:
            place = str(self.store.file.parent)
        else:
            place = self.spool if spooled else "memory"
        reason = self._recorder.reason if self._recorder.problem else self.store.displaced
        return f"not saved: {reason}; its data is in {shortened(place)}"

    def _look(self) -> None:
        """Report once when the store fails, and once when it works again. While the store fails, retry every
        `RETRY_S` seconds.
        """
        recorder = self._recorder
        self._state.unkept = self.unkept
        for text in recorder.said:
            self._say(text)
        recorder.said.clear()
        if bool(recorder.problem) != self._failing:
            self._failing = bool(recorder.problem)
            self._say(self._state.unkept or "the history is writable again")
        if recorder.problem:
            if self._retry is None:
                self._retry = asyncio.get_running_loop().call_later(RETRY_S, self._again)
            return
        self._forget()

    def _forget(self) -> None:
        """Delete the workers' files of the runs that are now in the history."""
        if self.store.file is None:
            return
        for run in [run for run in self._spooled if self._recorder.has_all(run)]:
            if run in self._kept:
                self._kept.pop(run).close()
            spool.forget(Path(self.spool), run, self.store)
            self._spooled.discard(run)

    def _again(self) -> None:
        self._retry = None
        self._recorder.flush()
        self._look()

    @property
    def in_no_history(self) -> bool:
        """True if the data of a run is only in memory or in a file that was not imported."""
        return bool(self._recorder.pending or (self._displaced and self.store.file is None))

    def kept(self, run: str) -> bool:
        return self._recorder.has_all(run) and not self._recorder.problem and self.store.file is not None

    @property
    def again(self) -> bool:
        """True if the store's current file has already seemed damaged once."""
        return self._recorder.again

    def recreate(self) -> bool:
        """Continue after apparent damage: with the same file if it is intact, else with a new file. Returns
        False on failure.
        """
        done = self._recorder.recreate()
        self._look()
        return done

    def close(self) -> str:
        """Write pending data and close. Returns a message about data that could not be written."""
        if self._closed:
            return ""
        self._closed = True
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._looking is not None:
            self._looking.cancel()
        if self._recorder.flush():
            self._forget()
        return self._recorder.close(self.spool)
