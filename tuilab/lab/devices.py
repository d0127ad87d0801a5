"""Samples the load of this machine's devices once a second while the lab or a watched program runs."""

import contextlib
from collections import deque
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.telemetry import DeviceSample

if TYPE_CHECKING:
    from tuilab.telemetry.sampler import Telemetry

EVERY_S = 1.0
REMEMBERED = 120


class Devices:
    """Samples of the devices, newest last. Taking a sample costs 0.3 ms of CPU time."""

    def __init__(self) -> None:
        self.samples: deque[DeviceSample] = deque(maxlen=REMEMBERED)
        self._telemetry: Telemetry | None = None
        self._begun = self._due = 0.0
        """Start time of the last sample, and earliest start time of the next sample. The latter is infinite
        while a sample is taken.
        """

    async def look(self, pid: int) -> None:
        """Take a sample if the last one is at least a second old. Uses a thread, because a call into a hung
        driver may block.

        pid: the worker's process id; 0 if there is none.
        """
        if self._begin():
            # reading the kernel's counters fails if no file descriptor is free
            with contextlib.suppress(OSError):
                self.samples.append(await run_in_daemon_thread(self._read, pid))

    def read(self, pid: int) -> DeviceSample | None:
        """Take a sample in the current thread and return it. Returns None if the last sample is less than a
        second old.
        """
        return self._read(pid) if self._begin() else None

    def _begin(self) -> bool:
        begun = monotonic()
        if begun < self._due:
            return False
        self._begun, self._due = begun, inf
        return True

    def _read(self, pid: int) -> DeviceSample:
        from tuilab.telemetry.sampler import Telemetry

        try:
            self._telemetry = self._telemetry or Telemetry()
            return self._telemetry.sample(pid)
        finally:
            self._due = self._begun + 0.9 * EVERY_S

    def close(self) -> None:
        """Close the connection to the GPU driver, unless the driver has stopped responding."""
        if self._telemetry is not None and self._due < inf:
            self._telemetry.close()
        self._telemetry, self._due = None, inf
