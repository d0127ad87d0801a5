"""Saves the events of the lab's runs in the store, and the marks of the presets' verdicts."""

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tuilab.history.connection import is_damage
from tuilab.history.spool import mark_away
from tuilab.history.store import Store
from tuilab.lab import marks
from tuilab.lab.recorder import RunRecorder
from tuilab.lab.replay import Replay, load, recorded
from tuilab.lab.state import LabState
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.events import Event, Finished, Ready, RunsAlike
from tuilab.model.requests import Measure, scope
from tuilab.model.scenario import BUDGET

if TYPE_CHECKING:
    from tuilab.lab.history import History, HistoryClient
    from tuilab.lab.machines import MachineLine
    from tuilab.lab.offers import Offer

StoreFactory = Callable[[], Store]


class SavedRuns:
    """Saves a lab's runs, and finds runs of earlier labs."""

    def __init__(self, state: LabState, say: Callable[[str], None], open_store: StoreFactory | None) -> None:
        """say: called with messages for the user. open_store: opens the history; None for the user's own
        history.
        """
        self._state, self._say, self._open_store = state, say, open_store
        self._recorder: RunRecorder | None = None
        self._opened: Store | None = None

    @property
    def store(self) -> Store:
        if self._recorder is not None:
            return self._recorder.store
        if self._opened is None:
            self._opened = (self._open_store or Store.open)()
        return self._opened

    @property
    def history(self) -> "History":
        from tuilab.lab.history import History

        return History(self.store)

    def client(self) -> "HistoryClient":
        """Return a history client for a page that must not block. The page must close the client."""
        from tuilab.lab.history import HistoryClient

        return HistoryClient(self.store)

    # Saving

    def record(self) -> RunRecorder:
        """Start saving runs, and import runs that finished after their lab had ended."""
        if self._recorder is None:
            self._recorder = RunRecorder(self._state, self._say, self.store)
            self._mark()
        return self._recorder

    def keep(self, finish: bool) -> Sequence[str]:
        """Start saving runs. Returns messages for the user. Workers write the events to files as well, which
        remain if this process is killed.

        finish: let workers finish an active run after the lab has ended.
        """
        recorder = self.record()
        self._state.spool, self._state.finish = recorder.spool, finish
        return recorder.notices

    def receive(self, event: Event) -> None:
        if self._recorder is not None:
            self._recorder.receive(event)
        self._mark(event)

    def extend(self, request: Measure) -> Measure:
        """Save the coming events of a request with the run that the request continues. Returns the request
        with the lab's settings for saving.
        """
        self.record().go_on(request.id)
        return self._state.kept(request)

    def go_on(self, request: Measure) -> bool:
        """Save the coming events of a request with the run that the request continues. Returns False if the
        history does not contain this run.
        """
        if self._recorder is None:
            return True
        try:
            kept = self._recorder.kept(request.id)
            if kept:
                self._recorder.go_on(request.id)
            return kept
        except sqlite3.Error:
            return False

    def alike(self, event: Event) -> RunsAlike | None:
        """If the event is the successful end of the run on the screen, return the range of results of similar
        saved runs.
        """
        shown, recorder = self._state.shown, self._recorder
        over = isinstance(event, Finished) and event.status == "ok" and event.run == shown.run
        return recorder.alike(shown) if over and recorder is not None and not self._state.summing else None

    def conclude(self, run: str) -> None:
        shown = self._state.shown
        if self._recorder is not None and shown.run == run and self._state.result() is not None:
            self._recorder.conclude(shown, self._state.claims_of(shown.preset))

    def _mark(self, event: Event | None = None) -> None:
        """Load or save the verdicts that mark the presets in the list.

        Loads them if the event is None or reports a ready worker, and saves them at the end of a run.
        """
        file = self._recorder.store.file if self._recorder is not None else None
        machine, known = self._state.machine, self._state.verdicts
        if file is None or machine is None or getattr(event, "origin", None):
            return
        # The key ignores GPUs, but an emulated GPU decides nothing about the real machine.
        of = machine.mark_title(machine.key)
        if event is None or isinstance(event, Ready):
            self._state.verdicts = {**marks.read(file.parent, of), **known}
        elif isinstance(event, Finished) and known != marks.read(file.parent, of):
            marks.keep(file.parent, of, known)

    def set_aside(self, error: sqlite3.Error) -> str:
        """Continue after an error that indicates a damaged history. An intact file stays in use; a damaged
        file is renamed.

        Returns a message for the user; "" if the error has another cause or the recovery fails.
        """
        if not is_damage(error) or self._recorder is None or not self._recorder.recreate():
            return ""
        if self._recorder.again:
            return "The history is readable again and still in use."
        return "The file was renamed, nothing was deleted, and a new history was started."

    # The end of the lab

    @property
    def unattended(self) -> bool:
        """True if the active run continues after the terminal has disappeared."""
        return bool(self._state.running and self._state.spool and self._state.finish)

    @property
    def needs_lab(self) -> bool:
        """True if the worker alone cannot finish the active run: it receives the request only once it has
        imported TensorFlow, only the lab starts further processes, and a confined worker cannot write to the
        data folder.
        """
        state, shown = self._state, self._state.shown
        budget = shown.budget if shown.budget and state.asked == shown.run else BUDGET[state.budget]
        confined = shown.scenario is not None and scope(shown.scenario.file, shown.scenario.opening)
        return state.worker.phase == "starting" or bool(confined) or budget.most_processes > 1

    def mark_away(self) -> bool:
        """Record, for the next lab to report, that this lab has lost its terminal during the active run.

        Returns False if the run has not been requested yet.
        """
        run = self._state.asked
        with contextlib.suppress(OSError):  # then later labs do not mention the run before it ends
            if run:
                mark_away(self._state.spool, run)
        return bool(run)

    @property
    def in_no_history(self) -> bool:
        return self._recorder is not None and self._recorder.in_no_history

    def farewell(self) -> str:
        """Describe where the run on the screen is saved and how to reopen it; "" if there is none.

        Call this method after closing the lab, because closing stops an active run.
        """
        shown, recorder = self._state.shown, self._recorder
        if recorder is None or not shown.rounds or self._state.replay or not recorder.kept(shown.run):
            return ""
        then = "export it: tuilab export" if shown.status == "ok" else "continue it: tuilab resume"
        return f"saved as run {shown.run[:8]}; to {then} last"

    def close(self) -> str:
        """Write pending data. Returns a message about data that could not be written."""
        if self._recorder is not None:
            return self._recorder.close()
        if self._opened is not None:
            self._opened.close()
        return ""

    # Earlier runs

    async def offers(self) -> "list[Offer]":
        return await run_in_daemon_thread(recorded, self.store)

    async def load(self, run: str) -> Replay:
        """Load a recorded run from the history (`run:ID`) or from a file. Raises InputError."""
        return await run_in_daemon_thread(load, self.store, run)

    async def machines(self) -> "tuple[list[MachineLine], str]":
        """Return the machines in the history for each preset, and the reason why some are missing ("" if all
        are present).
        """
        from tuilab.lab.machines import load

        return await run_in_daemon_thread(load, self.store)

    async def load_pinned(self) -> bool:
        """Read the pinned runs. Returns False if no run is pinned and none was pinned at the last call.
        Raises sqlite3.Error.
        """
        from tuilab.lab.history import ghosts

        client, before = self.client(), self._state.ghosts.pinned
        try:
            self._state.ghosts.pinned = await client.do(ghosts)
        finally:
            client.close()
        return bool(before or self._state.ghosts.pinned)

    def export_shown(self, key: str, folder: Path, picture: Callable[[], str]) -> Path:
        """Write the run on the screen to a new file in `folder`. Raises OSError and ValueError.

        key: a key of `formats` in `tuilab.lab.export`. picture: returns an SVG of the screen.
        """
        from tuilab.lab.export import write_shown

        return write_shown(key, self._state, self.store, folder, picture)
