"""Decides when screens are redrawn.

A user's action and the first round of a run are drawn at once. Later rounds are drawn less often the longer
the run takes, and the number of bytes in the last paint limits the rate.
"""

import asyncio
from collections.abc import Callable

from tuilab.lab.changes import Change
from tuilab.lab.lab import Lab
from tuilab.model.events import Event

STEPS = ((4.0, 0.25), (12.0, 0.5), (30.0, 1.0), (float("inf"), 2.0))
"""Pairs (until, interval), in seconds: while less than `until` has passed since the run's first round, paints
are at least `interval` apart.
"""
MOST_SHARE = 0.2
"""Maximum share of a run's time spent on drawing. It matters for very long runs, whose summaries are slow."""
BYTES_S = 14_000.0
"""Maximum bytes per second, on average, that the paints of a run send to the terminal."""
LONGEST_S = 4.0
"""Maximum seconds between two paints, regardless of the bytes sent."""
LATE_S = 0.5
"""Extra seconds for which a postponed report waits, so that one paint can also draw the next report."""
LEAST_S = 0.1
"""Minimum seconds between two paints that nobody waits for."""
TICK_S = 1.0

SUMMED = Change.RUN | Change.REPORT
"""Changes that require a new summary."""
WAITED_FOR = Change.SETTINGS | Change.OVER | Change.FIRST | Change.LOOK

Draw = Callable[[Change, Callable[[], None]], None]
"""Draws a change, and calls back when the change is on the terminal."""


class Pacing:
    """Decides when a report is painted.

    clock: returns seconds. sent: returns the total number of bytes sent to the terminal.
    """

    def __init__(self, clock: Callable[[], float], sent: Callable[[], int] = lambda: 0) -> None:
        self._clock, self._sent = clock, sent
        self._sent_before = 0
        self._painted = float("-inf")
        self._took = self._before = 0.0

    def wait(self, elapsed_s: float, rounds: int) -> float:
        """Return the seconds to wait before the next report of a run is painted.

        elapsed_s: seconds since the run's first round. rounds: number of the run's rounds so far.
        """
        if rounds <= 1:
            return 0.0
        every = next(every for until, every in STEPS if elapsed_s < until)
        # Use the shorter of the last two paints, because the first paint of a kind also loads modules.
        every = max(every, min(self._took, self._before) / MOST_SHARE)
        return max(0.0, self._painted + every - self._clock(), self.owed())

    def owed(self) -> float:
        """Return the seconds until the byte rate allows a paint that the user did not request."""
        every = min(LONGEST_S, (self._sent() - self._sent_before) / BYTES_S)
        return max(0.0, self._painted + every - self._clock())

    def painting(self, took: float = 0.0) -> None:
        self._painted, self._sent_before = self._clock(), self._sent()
        self._before, self._took = self._took, took


class Painter:
    """Collects changes, and draws them while the worker waits, so that no paint disturbs a measurement.

    sent: returns the total number of bytes sent to the terminal.
    """

    def __init__(self, lab: Lab, draw: Draw, sent: Callable[[], int] = lambda: 0) -> None:
        self._lab, self._show = lab, draw
        lab.painting.pace()
        self.pacing = Pacing(lambda: asyncio.get_running_loop().time(), sent)
        self._answer: asyncio.Handle | None = None
        self._late: asyncio.TimerHandle | None = None
        self._dirty = Change.NOTHING
        self._due: asyncio.TimerHandle | asyncio.Handle | None = None
        self._tick: asyncio.TimerHandle | None = None
        self._painted_at = float("-inf")
        self._begun = 0.0
        self._summing: asyncio.Future[None] | None = None
        self._unsubscribe = lab.subscribe(self._heard)
        self._closed = False

    def close(self) -> None:
        self._closed = True
        self._unsubscribe()
        for handle in (self._due, self._tick, self._answer, self._late):
            if handle is not None:
                handle.cancel()

    @property
    def idle(self) -> bool:
        return not (self._due or self._answer or self._late or self._lab.state.summing)

    def _heard(self, change: Change, event: Event | None) -> None:
        self.soon(change)

    def soon(self, change: Change) -> None:
        """Schedule the drawing of a change: at once if the user or the worker waits for it."""
        if self._closed or not change:
            return
        self._dirty |= change
        self._ticking()
        loop, shown = asyncio.get_running_loop(), self._lab.state.shown
        if change & (Change.REPORT | Change.OVER | Change.SETTINGS | Change.FIRST):
            # The user or the worker waits for this paint. `call_soon` lets events that arrived together share
            # one paint.
            wait = self.pacing.wait(shown.elapsed_s, shown.rounds) if Change.REPORT in change else 0.0
            if wait:
                if self._due is None:
                    self._put_off(wait)
                return
            if isinstance(self._due, asyncio.TimerHandle):
                self._due.cancel()
                self._due = None
            if self._due is None:
                self._due = loop.call_soon(self._paint)
        elif self._due is None and self._late is None:
            wait = max(0.0, self._painted_at + LEAST_S - loop.time(), self.pacing.owed())
            self._due = loop.call_later(wait, self._paint)
        elif self._due is None and not self.pacing.wait(shown.elapsed_s, shown.rounds):
            self._due = loop.call_soon(self._paint)
        # While a report is delayed, a change that nobody waits for gets no paint of its own, because such a
        # paint would overlap a measurement. The report's paint, for which the worker waits, also draws it.
        due = self._due
        if due is None or (isinstance(due, asyncio.TimerHandle) and due.when() > loop.time() + LEAST_S):
            self._let_go()

    def _put_off(self, wait: float) -> None:
        """Postpone the drawing of a report, so that the next paint can draw it too."""
        self._let_go()
        if self._late is not None:
            self._late.cancel()
        self._late = asyncio.get_running_loop().call_later(wait + LATE_S, self._paint)

    def _let_go(self) -> None:
        """Let the worker continue while no paint is pending."""
        if self._answer is None:
            self._answer = asyncio.get_running_loop().call_soon(self._acknowledge)

    def _paint(self) -> None:
        self._due = None
        if self._late is not None:
            self._late.cancel()
            self._late = None
        state, begun = self._lab.state, asyncio.get_running_loop().time()
        if state.summing:
            # Drawing while a summary is computed would make both take twice as long. The paint after the
            # summary also draws this change.
            if self._dirty & WAITED_FOR:
                self._draw(begun)
        elif self._dirty & SUMMED and state.long:
            drawing = self._lab.painting.sum_up(lambda: self._draw(begun))
            self._summing = asyncio.ensure_future(drawing)
        else:
            self._draw(begun)

    def _draw(self, begun: float) -> None:
        if self._closed:
            return
        later = SUMMED if self._lab.state.summing else Change.NOTHING
        dirty, self._dirty = self._dirty & ~later, self._dirty & later
        loop = asyncio.get_running_loop()
        self._painted_at, self._begun = loop.time(), begun
        self._show(dirty, self._painted)
        self._ticking()

    def _painted(self) -> None:
        self.pacing.painting(asyncio.get_running_loop().time() - self._begun)
        self._acknowledge()

    def _acknowledge(self) -> None:
        self._answer = None
        self._lab.painting.painted()

    def _ticking(self) -> None:
        """Draw the elapsed seconds every second while anything is in progress.

        A timer checks every second, because a running worker may start to wait at any time. An unchanged
        screen sends nothing.
        """
        state = self._lab.state
        if (
            (state.waiting or state.running or state.shown.running)
            and self._tick is None
            and not self._closed
        ):
            self._tick = asyncio.get_running_loop().call_later(TICK_S, self._ticked)

    def _ticked(self) -> None:
        self._tick = None
        if self._lab.state.waiting:
            self.soon(Change.TICK)
        else:
            self._ticking()
