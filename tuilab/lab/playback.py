"""Replays a recorded run in place of a live run."""

import asyncio
from collections.abc import Callable

from tuilab.lab.changes import Change
from tuilab.lab.replay import Replay, label
from tuilab.lab.state import LabState
from tuilab.model.events import Event, Finished


class Playback:
    def __init__(
        self, state: LabState, show: Callable[[Event], None], told: Callable[[Change], None]
    ) -> None:
        """show: applies an event to the state. told: notifies listeners of a change."""
        self._state, self._show, self._told = state, show, told
        self.replay: Replay | None = None
        """The active replay; None after another run has replaced the replay on the screen."""
        self._playing: asyncio.Future[None] | None = None
        self._warned = False

    def begin(self, replay: Replay) -> None:
        """Start replaying a run. Any current run must be stopped first."""
        started = replay.started
        if started is None:
            return
        self._state.begin_replay(label(started), started)

        def receive(event: Event) -> None:
            self._state.replay_continues = replay.continues
            self._show(event)

        self.replay, self._warned = replay, False
        self._told(Change.SETTINGS | Change.WORKER)
        self._playing = asyncio.ensure_future(
            replay.play(
                receive,
                self._state.rewind,
                lambda: not self._state.summing,
                lambda rounds: self._told(self._state.take(rounds)),
            )
        )

    def command(self, do: Callable[[Replay], None]) -> bool:
        """Apply a player command (pause, step, seek, speed). Returns False if no replay is active."""
        if self.replay is None:
            return False
        do(self.replay)
        self._told(Change.WORKER)
        return True

    def spare(self) -> bool:
        """Return True if the user must first confirm that a measurement may replace the replay. Later calls
        for the same replay return False.
        """
        spared = bool(self._state.replay) and not self._warned
        self._warned = True
        return spared

    def to_the_end(self) -> bool:
        """Show the rest of a replayed run that had been stopped, so that the run can be continued. Returns
        False if the replay has already ended, or does not show a stopped run.
        """
        replay = self.replay
        if replay is None or not replay.stopped or replay.over:
            return False
        return self.command(lambda shown: shown.seek(shown.rounds))

    def end(self) -> bool:
        playing, self._playing, self.replay = self._playing, None, None
        if playing is None:
            return False
        playing.cancel()
        if self._state.shown.running:
            run = self._state.shown.run
            self._show(Finished(run=run, status="cancelled", message="the replay was stopped"))
        return True

    def close(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
