"""Ends a run that hangs. There may be no user to stop it, for example under cron or after an SSH connection
was lost.
"""

import contextlib
import threading
import time

import psutil

from tuilab.model.events import Finished
from tuilab.worker.context import Context

HANG_S = 600.0
LOOK_S = 15.0
BUSY_S = 1.0
"""Seconds of CPU time. A run that uses at least this much within `HANG_S` is still computing."""


def children_s() -> float:
    seconds = 0.0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            used = child.cpu_times()
            seconds += used.user + used.system
    return seconds


class HangWatch(threading.Thread):
    """Ends this process if, for `HANG_S` seconds, the measured run has sent no event and used less than
    `BUSY_S` of CPU time. Finished rounds are kept.

    A run that waits for its turn does not count as hanging. The watch counts its own checks rather than
    elapsed time, so that it does not end a process that was suspended and resumed.
    """

    def __init__(self, context: Context, run: str) -> None:
        super().__init__(daemon=True)
        self._context, self._run_id = context, run
        self._over = threading.Event()

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def run(self) -> None:
        sent, own, others, idle = -1, 0.0, 0.0, 0
        while not self._over.wait(LOOK_S):
            used = time.process_time() - time.thread_time()  # exclude the CPU time of these checks
            if self._context.waits or self._context.sent != sent or used - own >= BUSY_S:
                sent, own, idle = self._context.sent, used, 0
                continue
            used = children_s()
            if idle and others <= used < others + BUSY_S:
                idle += 1
            else:
                others, idle = used, 1
            if idle * LOOK_S >= HANG_S:
                self._end()

    def _end(self) -> None:
        words = f"the call did nothing for {HANG_S / 60:.3g} minutes (no result, no processor time), "
        words += "so its process was ended"
        self._context.send(Finished(run=self._run_id, status="failed", message=words))
        self._context.channel.kept()
        self._context.channel.leave()
