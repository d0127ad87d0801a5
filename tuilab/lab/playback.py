"""The replay of a recorded run, in place of the lab's own run."""

import asyncio
from collections.abc import Callable

from tuilab.lab.changes import Change
from tuilab.lab.replay import Replay, label
from tuilab.lab.state import LabState
from tuilab.model.events import Event, Finished


class Playback:
    """Plays one recorded run at a time into the state."""

    def __init__(
        self, state: LabState, show: Callable[[Event], None], told: Callable[[Change], None]
    ) -> None:
        """show: applies an event that does not come from the worker. told: notifies listeners."""
        self._state, self._show, self._told = state, show, told
        self.replay: Replay | None = None
        """The replay and its controls; None once something else is on the screen."""
        self._playing: asyncio.Future[None] | None = None
        self._warned = False

    def begin(self, replay: Replay) -> None:
        """Show a recorded run instead of the current one, which was stopped before."""
        started = replay.started
        if started is None:
            return
        self._state.begin_replay(label(started), started)
        self.replay, self._warned = replay, False
        self._told(Change.SETTINGS | Change.WORKER)
        self._playing = asyncio.ensure_future(
            replay.play(
                self._show,
                self._state.rewind,
                lambda: not self._state.summing,
                lambda rounds: self._told(self._state.take(rounds)),
            )
        )

    def command(self, do: Callable[[Replay], None]) -> bool:
        """Pause, step, seek or change the speed of the replay; False if there is none."""
        if self.replay is None:
            return False
        do(self.replay)
        self._told(Change.WORKER)
        return True

    def spare(self) -> bool:
        """Return True if an action that would replace a replay with a measurement needs a second request."""
        spared = bool(self._state.replay) and not self._warned
        self._warned = True
        return spared

    def end(self) -> bool:
        """End the replay; False if there is none."""
        playing, self._playing, self.replay = self._playing, None, None
        if playing is None:
            return False
        playing.cancel()
        if self._state.shown.running:
            run = self._state.shown.run
            self._show(Finished(run=run, status="cancelled", message="the replay was stopped"))
        return True

    def close(self) -> None:
        """Play no further."""
        if self._playing is not None:
            self._playing.cancel()
