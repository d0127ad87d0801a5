"""What the devices of this machine did while the lab, or a watched program, ran: a sample a second."""

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
    """Samples, the newest last. A sample takes 0.3 ms of a processor; one is taken at a time."""

    def __init__(self) -> None:
        self.samples: deque[DeviceSample] = deque(maxlen=REMEMBERED)
        self._telemetry: Telemetry | None = None
        self._begun = self._due = 0.0
        """When the last one began, and when the next one may; never while one is being taken."""

    async def look(self, pid: int) -> None:
        """Take a sample, where the last one is a second old; pid: of the worker, 0 for none.

        In a thread: a call into a wedged driver may block.
        """
        if self._begin():
            with contextlib.suppress(OSError):  # no descriptor is left for what the kernel tells
                self.samples.append(await run_in_daemon_thread(self._read, pid))

    def read(self, pid: int) -> DeviceSample | None:
        """Return a sample, taken in this thread; None if the last one is not a second old."""
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
        """End the session with the driver, but for one whose driver does not answer."""
        if self._telemetry is not None and self._due < inf:
            self._telemetry.close()
        self._telemetry, self._due = None, inf
