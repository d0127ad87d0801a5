"""Predicts whether a larger size of a sweep fits into memory, from the memory that smaller sizes took."""

import contextlib
import math
import resource
import sys
from pathlib import Path

import psutil

from tuilab.model.quantity import size as bytes_words
from tuilab.worker.measure.prepare import MEMORY_SHARE, free_memory

LEAST = 64 * 2**20
"""In bytes. Less memory than this cannot be distinguished from TensorFlow's own allocations."""
MOST_POWER = 3.0
"""Largest exponent assumed for the growth of memory with the size."""
RESET, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def process_memory() -> int:
    return int(psutil.Process().memory_info().rss)


def reset_peak() -> None:
    """Reset the recorded peak if the system (Linux 4.0 or later) and the process's confinement allow it."""
    with contextlib.suppress(OSError):
        RESET.write_text("5")


def peak() -> int:
    """Return this process's peak memory in bytes since the last reset, or since its start."""
    with contextlib.suppress(OSError):
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


class SizesMemory:
    def __init__(self) -> None:
        self._taken: dict[float, int] = {}
        self._before = 0

    def begin(self) -> None:
        reset_peak()
        self._before = process_memory()

    def end(self, size: float) -> None:
        """Record the memory, at least `LEAST`, that measuring this size took. Size 0 predicts nothing and is
        ignored.
        """
        if size > 0:
            self._taken[size] = max(LEAST, peak() - self._before)

    def lacking(self, size: float) -> str:
        """Return why the size does not fit into memory; "" if it fits, or if fewer than two sizes are known.

        Memory is assumed to grow as a power of the size, fitted to the two largest known sizes.
        """
        known = sorted(self._taken.items())[-2:]
        if len(known) < 2 or size <= known[-1][0]:
            return ""
        (before, took), (last, taken) = known
        power = min(MOST_POWER, max(0.0, math.log(taken / took) / math.log(last / before)))
        needed, available = taken * (size / last) ** power, free_memory()
        if taken == LEAST or needed <= MEMORY_SHARE * available:
            return ""
        text = f"{bytes_words(needed)} of memory, extrapolated from smaller sizes"
        return f"needs about {text}; {bytes_words(available)} is free"
