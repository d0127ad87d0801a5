"""Times blocks of calls and subtracts the cost of synchronizing."""

import gc
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

from tuilab.worker.measure.shallow import shallow
from tuilab.workloads.base import Case

BLOCK_S = 0.005
SYNCS_PER_BLOCK = 200
"""Minimum duration of a block, as a multiple of the duration of an empty sync. Keeps the sync's remaining
jitter below 1%.
"""

LEAD_IN_FROM = 4
"""Blocks of at least this many calls start with one untimed call.

When arms take turns, the first call of a block finds the caches full of the previous arm's data. This makes a
0.13 ms graph call 50% slower, and would make a 5 ms block 2% slower than repeated calls of the same arm.
"""

EMPTY_SYNCS = 101


def sync_of(tf: Any, device: str) -> Callable[[], object]:
    """Return a function that waits until this device is idle, but not until other devices are."""

    def sync() -> None:
        with tf.device(f"/{device}"):
            tf.raw_ops.SyncDevice()

    return sync


class Stopwatch:
    """Times calls with a steady clock.

    sync: waits until the device, or every device, is idle. clock: returns nanoseconds. block_s: minimum
    seconds of a block. empty_s: seconds of a sync while the device is idle (median of 101), subtracted from
    each figure.
    """

    def __init__(
        self,
        sync: Callable[[], object],
        clock: Callable[[], int] = time.perf_counter_ns,
        block_s: float = BLOCK_S,
    ) -> None:
        self.sync, self._clock, self._block_s = sync, clock, block_s
        self.empty_s = 0.0
        self.empty_s = shallow(lambda: statistics.median(self._empty() for _ in range(EMPTY_SYNCS)))

    @property
    def block_s(self) -> float:
        return max(self._block_s, SYNCS_PER_BLOCK * self.empty_s)

    def now(self) -> float:
        return self._clock() * 1e-9

    def block(self, case: Case, calls: int) -> float:
        """Return the seconds of `calls` consecutive calls with one sync at the end, in the case's scope."""
        return self.visit(case, calls, latency=False)[0]

    def visit(self, case: Case, calls: int, *, latency: bool) -> tuple[float, float | None]:
        """Return the seconds of a block and, with `latency`, of one more call with its own sync.

        A block of one call gives both figures. The calls run in the thread with the short stack.
        """
        return shallow(lambda: self._visit(case, calls, latency))

    def _visit(self, case: Case, calls: int, latency: bool) -> tuple[float, float | None]:
        with case.scope():
            if calls >= LEAD_IN_FROM:
                case.call()
            seconds = self.time(case.call, calls)
            if calls == 1:
                return seconds, seconds
            return seconds, self.time(case.call) if latency else None

    def time(self, call: Callable[[], object], calls: int = 1) -> float:
        """Return the seconds of `calls` calls and one sync, without garbage collection, starting on an idle
        device.
        """
        collecting = gc.isenabled()
        self.sync()
        gc.disable()
        try:
            begun = self._clock()
            for _ in itertools.repeat(None, calls):
                call()
            self.sync()
            ended = self._clock()
        finally:
            if collecting:
                gc.enable()
        return max(0.0, (ended - begun) * 1e-9 - self.empty_s)

    def _empty(self) -> float:
        begun = self._clock()
        self.sync()
        return (self._clock() - begun) * 1e-9
