"""Drains the buffers of a background input pipeline before a block, and keeps the pipeline idle between
blocks.

A pipeline fills its buffers while other arms are timed. A later block would get the buffered elements for
free, and preparing more elements would take processors away from the arm that is being timed.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

PRIMING = 2
"""Number of untimed calls between draining and a timed block, which bring the buffers into their steady
state.
"""
LEAST_CALLS = 4
"""Minimum number of calls in a block. With fewer, priming could cost more than the block."""
FEWEST = 6
WAITS = 2
"""Number of consecutive waits that show an empty buffer, because a single wait may be an interruption."""
MOST_READY = 1_000
"""Maximum number of elements to draw; high, because AUTOTUNE can enlarge a buffer."""
START_S = 0.4
"""Seconds for which to draw from a pipeline before measuring, to give AUTOTUNE time to find its settings."""
REST_S, LOOK_S, QUIET = 2.0, 0.003, 0.3
"""Limits of the wait for an idle pipeline: maximum seconds, seconds per check, and share of a processor below
which the pipeline counts as idle (in two checks in a row).
"""


class Drain:
    """Controls a pipeline between blocks.

    draw: draws an element. end: stops a pipeline that does not become idle; the pipeline restarts with the
    next element.
    """

    def __init__(self, draw: Callable[[], Any], end: Callable[[], object] = lambda: None) -> None:
        self._draw, self._end = draw, end
        self.element_s = 0.0
        """Seconds per element if elements are drawn without a pause."""
        self.ready = 0
        """Number of elements that were ready after the last idle period."""
        self._entered = False

    def pace(self) -> Any:
        """Measure the pipeline's pace by drawing elements for a while. Return the last element and leave the
        pipeline idle.
        """
        draws: list[float] = []
        begun = time.perf_counter()
        while len(draws) < FEWEST or time.perf_counter() - begun < START_S:
            drawing = time.perf_counter()
            element = self._draw()
            draws.append(time.perf_counter() - drawing)
        self.element_s = statistics.fmean(draws[len(draws) // 2 :])
        self.rest()
        return element

    @contextmanager
    def running(self, inner: AbstractContextManager[Any], call: Callable[[], object]) -> Iterator[None]:
        """Run the pipeline for a block: drain it, prime it with calls, and wait until it is idle after the
        block.
        """
        with inner:
            if self._entered:
                self.empty()
                for _ in range(PRIMING):
                    call()
            # The first block is the first call, which is timed without preparation.
            self._entered = True
            try:
                yield
            finally:
                self.rest()

    def empty(self) -> None:
        """Draw elements until two draws in a row have to wait, and count the elements that were ready."""
        self.ready, waited = 0, 0
        for _ in range(MOST_READY):
            begun = time.perf_counter()
            self._draw()
            if time.perf_counter() - begun > self.element_s / 2:
                waited += 1
                if waited == WAITS:
                    break
            else:
                self.ready, waited = self.ready + 1, 0

    def rest(self) -> None:
        if not _quiet():
            # The ended pipeline finishes the work in progress, but starts no new work.
            self._end()
            _quiet()


def _quiet() -> bool:
    """Wait until this process no longer computes in the background. Return False on timeout."""
    since, quiet = time.monotonic(), 0
    while quiet < 2:
        if time.monotonic() - since > REST_S:
            return False
        used, begun = time.process_time(), time.perf_counter()
        time.sleep(LOOK_S)
        busy = (time.process_time() - used) / (time.perf_counter() - begun)
        quiet = quiet + 1 if busy < QUIET else 0
    return True


def drawing(iterators: Sequence[Any]) -> Callable[[], None]:
    def draw() -> None:
        for each in iterators:
            next(each, None)

    return draw
