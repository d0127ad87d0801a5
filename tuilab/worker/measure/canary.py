"""A fixed tiny workload beside the measured ones: when its pace moves, the machine has changed, not they."""

import statistics
from collections import deque
from collections.abc import Callable

LOOPS = 2_000
TRIES = 3
MOVED = 0.05
MEMORY = 25


def work() -> int:
    """Integer arithmetic in the interpreter: about 50 µs, in registers and the first-level cache."""
    total = 0
    for i in range(LOOPS):
        total += i * i
    return total


class Canary:
    """Sings before and after each round; a song more than 5 % off the usual one disturbs the round.

    One song is the fastest of three tries, so that a single interruption (which the block itself would
    have survived as an outlier) is not heard, and a change of the processor's pace is. The usual one is the
    median of the last 25 accepted, so that a lasting change is complained of for a while and then accepted.
    """

    def __init__(self, now: Callable[[], float], work: Callable[[], object] = work) -> None:
        self._now, self._work = now, work
        self._usual: deque[float] = deque(maxlen=MEMORY)
        self._before = 0.0

    def start(self) -> None:
        """Sing before a round, where the last song is too long ago."""
        self._before = self._sing()

    def after(self) -> tuple[float, bool]:
        """Sing after a round: the slower song of the two around it in seconds, and whether one had moved."""
        before, self._before = self._before, self._sing()
        around = (before, self._before)
        usual = statistics.median(self._usual) if self._usual else min(around)
        return max(around), any(abs(song / usual - 1) > MOVED for song in around)

    def accept(self) -> None:
        """The round counts: its song joins the usual ones."""
        self._usual.append(self._before)

    def _sing(self) -> float:
        return min(self._once() for _ in range(TRIES))

    def _once(self) -> float:
        begun = self._now()
        self._work()
        return max(self._now() - begun, 1e-9)
