"""What the devices of this machine did while the lab was open: a sample a second."""

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
        self._due = 0.0
        """When the next one may begin; never while one is being taken."""

    async def look(self, pid: int) -> None:
        """Take a sample, where the last one is a second old; pid: of the worker, 0 for none.

        In a thread: a call into a wedged driver may block.
        """
        begun = monotonic()
        if begun < self._due:
            return
        self._due = inf
        try:
            self.samples.append(await run_in_daemon_thread(self._read, pid))
        finally:
            self._due = begun + 0.9 * EVERY_S

    def _read(self, pid: int) -> DeviceSample:
        from tuilab.telemetry.sampler import Telemetry

        self._telemetry = self._telemetry or Telemetry()
        return self._telemetry.sample(pid)

    def close(self) -> None:
        """End the session with the driver, but for one whose driver does not answer."""
        if self._telemetry is not None and self._due < inf:
            self._telemetry.close()
        self._telemetry, self._due = None, inf
