"""What works ahead of the calls that it feeds: drawn empty before a block, at rest between blocks.

A pipeline fills its buffers while other arms are timed. What lay ready then was prepared for free, and while
it prepares more it takes the processors from anyone who is timed.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

PRIMING = 2
"""Calls before a block is timed, once what lay ready is drawn: buffers are then as in the long run."""
LEAST_CALLS = 4
"""Calls of a block at least, so that priming it costs no more than the block."""
FEWEST = 6
"""Elements that are drawn at least before a pipeline's pace is taken as known."""
WAITS = 2
"""That many draws in a row that had to wait show that nothing lay ready; one may have been interrupted."""
MOST_READY = 1_000
"""Elements that are drawn at most. AUTOTUNE lets a buffer grow, and drawing what lies ready takes no time."""
START_S = 0.4
"""How long a pipeline is drawn from before it is measured: AUTOTUNE looks for its settings meanwhile."""
REST_S, LOOK_S, QUIET = 2.0, 0.003, 0.3
"""A pipeline that works ahead is waited for until the process used less than 0.3 of a processor for 3 ms,
twice in a row; one that does not come to rest within 2 s is ended if it can be."""


class Drain:
    """A pipeline between blocks.

    draw: draws an element. end: ends what does not come to rest; it begins again with the next element.
    """

    def __init__(self, draw: Callable[[], Any], end: Callable[[], object] = lambda: None) -> None:
        self._draw, self._end = draw, end
        self.element_s = 0.0
        """Seconds from element to element if nothing is done with them."""
        self.ready = 0
        """Elements that lay ready after the last rest."""
        self._entered = False

    def pace(self) -> Any:
        """Draw for a while; the last element. The pipeline is at rest afterwards."""
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
        """Keep it running for a block: draw what lay ready, prime it by calls, let it rest afterwards."""
        with inner:
            if self._entered:
                self.empty()
                for _ in range(PRIMING):
                    call()
            # The first block is the first call, which is timed with nothing before it.
            self._entered = True
            try:
                yield
            finally:
                self.rest()

    def empty(self) -> None:
        """Draw until draws have to wait; count what lay ready."""
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
        """Wait until it has filled its buffers."""
        if not _quiet():
            # What it does now it does to its end, but it begins nothing new.
            self._end()
            _quiet()


def _quiet() -> bool:
    """Wait until nothing of this process computes in the background; false if that takes too long."""
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
    """Return a function that draws an element of each iterator; of one that has ended, nothing."""

    def draw() -> None:
        for each in iterators:
            next(each, None)

    return draw
