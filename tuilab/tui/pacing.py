"""How often a run is painted: its first round at once, then more seldom the longer it goes on.

And no more often than the bytes of the last paint are worth.
"""

from collections.abc import Callable

STEPS = ((4.0, 0.25), (12.0, 0.5), (30.0, 1.0), (float("inf"), 2.0))
"""Until so many seconds into its rounds, a run is painted no more often than this."""
MOST_SHARE = 0.2
"""What drawing may take of a run's time: a very long one takes a while to sum up."""
BYTES_S = 14_000.0
"""Bytes a second that a run's paints take of the line to the terminal, on average."""
LONGEST_S = 4.0
"""However much a paint sent, the next comes by then."""


class Pacing:
    """Decides when a report is painted. Seconds of `clock`; sent: bytes that went to the terminal so far."""

    def __init__(self, clock: Callable[[], float], sent: Callable[[], int] = lambda: 0) -> None:
        self._clock, self._sent = clock, sent
        self._sent_before = 0
        self._painted = float("-inf")
        self._took = self._before = 0.0

    def wait(self, elapsed_s: float, rounds: int) -> float:
        """For how long not to paint a report, so many seconds and rounds into its run."""
        if rounds <= 1:
            return 0.0
        every = next(every for until, every in STEPS if elapsed_s < until)
        # The lesser of two, since the first paint of a kind loads what it needs.
        every = max(every, min(self._took, self._before) / MOST_SHARE)
        return max(0.0, self._painted + every - self._clock(), self.owed())

    def owed(self) -> float:
        """For how long to paint nothing that nobody waits for: until the last paint's bytes are gone."""
        every = min(LONGEST_S, (self._sent() - self._sent_before) / BYTES_S)
        return max(0.0, self._painted + every - self._clock())

    def painting(self, took: float = 0.0) -> None:
        """A paint has been drawn, in so many seconds."""
        self._painted, self._sent_before = self._clock(), self._sent()
        self._before, self._took = self._took, took
