"""When a face is told what changed: a run's first sample and what a person did at once, the rest paced.

The first round of a run is drawn at once, later ones the more seldom the longer it goes on, and no more often
than the bytes of the last paint are worth.
"""

import asyncio
from collections.abc import Callable

from tuilab.lab.changes import Change
from tuilab.lab.lab import Lab
from tuilab.model.events import Event

STEPS = ((4.0, 0.25), (12.0, 0.5), (30.0, 1.0), (float("inf"), 2.0))
"""Until so many seconds into its rounds, a run is painted no more often than this."""
MOST_SHARE = 0.2
"""What drawing may take of a run's time: a very long one takes a while to sum up."""
BYTES_S = 14_000.0
"""Bytes a second that a run's paints take of the line to the terminal, on average."""
LONGEST_S = 4.0
"""However much a paint sent, the next comes by then."""
LATE_S = 0.5
"""A report that was not painted when it came waits for the next one so much longer than it had to."""
LEAST_S = 0.1
"""Paints for anything but measured rounds are no closer than this."""
TICK_S = 1.0

SUMMED = Change.RUN | Change.REPORT
"""What shows a summary."""
WAITED_FOR = Change.SETTINGS | Change.OVER | Change.FIRST | Change.LOOK

Draw = Callable[[Change, Callable[[], None]], None]
"""Shows what changed, and calls back once it is on the terminal."""


class Pacing:
    """Decides when a report is painted. Seconds of `clock`; sent: bytes that went to the terminal so far."""

    def __init__(self, clock: Callable[[], float], sent: Callable[[], int] = lambda: 0) -> None:
        self._clock, self._sent = clock, sent
        self._sent_before = 0
        self._painted = float("-inf")
        self._took = self._before = 0.0

    def wait(self, elapsed_s: float, rounds: int) -> float:
        """Return for how long not to paint a report, so many seconds and rounds into its run."""
        if rounds <= 1:
            return 0.0
        every = next(every for until, every in STEPS if elapsed_s < until)
        # The lesser of two, since the first paint of a kind loads what it needs.
        every = max(every, min(self._took, self._before) / MOST_SHARE)
        return max(0.0, self._painted + every - self._clock(), self.owed())

    def owed(self) -> float:
        """Return for how long to paint nothing unasked: until the last paint's bytes are gone."""
        every = min(LONGEST_S, (self._sent() - self._sent_before) / BYTES_S)
        return max(0.0, self._painted + every - self._clock())

    def painting(self, took: float = 0.0) -> None:
        """Note that a paint has been drawn, in so many seconds."""
        self._painted, self._sent_before = self._clock(), self._sent()
        self._before, self._took = self._took, took


class Painter:
    """Gathers what changes in the lab, and has it drawn; the worker waits, so that no paint disturbs it.

    sent: bytes that went to the terminal so far.
    """

    def __init__(self, lab: Lab, draw: Draw, sent: Callable[[], int] = lambda: 0) -> None:
        self._lab, self._show = lab, draw
        lab.pace()
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
        """Draw nothing any more."""
        self._closed = True
        self._unsubscribe()
        for handle in (self._due, self._tick, self._answer, self._late):
            if handle is not None:
                handle.cancel()

    @property
    def idle(self) -> bool:
        """Nothing is about to be drawn."""
        return not (self._due or self._answer or self._late or self._lab.state.summing)

    def _heard(self, change: Change, event: Event | None) -> None:
        self.soon(change)

    def soon(self, change: Change) -> None:
        """Draw that change: at once where a person or the worker waits for it."""
        if self._closed or not change:
            return
        self._dirty |= change
        self._ticking()
        loop, shown = asyncio.get_running_loop(), self._lab.state.shown
        if change & (Change.REPORT | Change.OVER | Change.SETTINGS | Change.FIRST):
            # The worker waits for this paint, or a person does. Events of one write come in one go.
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
        # Else a report that was put off takes it along: the worker waits while the next one is painted, and a
        # paint of its own would come in the middle of a measurement.
        due = self._due
        if due is None or (isinstance(due, asyncio.TimerHandle) and due.when() > loop.time() + LEAST_S):
            self._let_go()

    def _put_off(self, wait: float) -> None:
        """Leave a report to the paint after the next one."""
        self._let_go()
        if self._late is not None:
            self._late.cancel()
        self._late = asyncio.get_running_loop().call_later(wait + LATE_S, self._paint)

    def _let_go(self) -> None:
        """Nothing is painted for now, so that the worker need not wait for it."""
        if self._answer is None:
            self._answer = asyncio.get_running_loop().call_soon(self._acknowledge)

    def _paint(self) -> None:
        self._due = None
        if self._late is not None:
            self._late.cancel()
            self._late = None
        state, begun = self._lab.state, asyncio.get_running_loop().time()
        if state.summing:
            # Drawn beside the summary, both would take twice as long; its own paint takes the rest along.
            if self._dirty & WAITED_FOR:
                self._draw(begun)
        elif self._dirty & SUMMED and state.long:
            drawing = self._lab.sum_up(lambda: self._draw(begun))
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
        self._lab.painted()

    def _ticking(self) -> None:
        """While something is waited for, count the seconds; a still screen sends nothing.

        In a run the next second may be the first of a wait, so each is looked at; none is painted for that.
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
