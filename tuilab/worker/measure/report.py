"""What a run says and when: never while a block is timed, rounds at most four times a second."""

import time
from collections.abc import Callable

from tuilab.model.events import Event, Round
from tuilab.model.run import RunState
from tuilab.worker.context import Context

EVERY_S = 0.25
PAINT_S = 0.25


class Reporter:
    """Holds rounds back until it is time, and waits for the screen where they share processors.

    pace: after something was said, `settle` waits for the screen to have painted it, 0.25 s at most.
    state: the run as everyone else sees it, folded from what was said.
    """

    def __init__(
        self, context: Context, *, pace: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._context, self._pace, self._clock = context, pace, clock
        self.state = RunState()
        self._held: list[Event] = []
        self._said = clock()
        self._unpainted = False

    def say(self, *events: Event) -> None:
        """Say them now, with whatever was held back before."""
        for event in events:
            self._hold(event)
        self.flush()

    def round(self, event: Round) -> bool:
        """Hold a round until a quarter of a second has passed since the last report; True when it left."""
        self._hold(event)
        due = self.due
        if due:
            self.flush()
        return due

    @property
    def due(self) -> bool:
        """Whether a quarter of a second has passed since the last report."""
        return self._clock() - self._said >= EVERY_S

    def _hold(self, event: Event) -> None:
        self._held.append(event)
        self.state.apply(event)

    def flush(self) -> None:
        """Send what is held."""
        if not self._held:
            return
        self._context.painted.clear()
        self._context.send(*self._held)
        self._held.clear()
        self._said, self._unpainted = self._clock(), True

    def settle(self) -> None:
        """Before timing: let the screen finish painting what was last said."""
        if self._pace and self._unpainted and self._context.watched:
            self._context.painted.wait(PAINT_S)
        self._unpainted = False
