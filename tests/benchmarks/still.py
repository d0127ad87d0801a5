"""Waits until the machine is idle enough for a benchmark, and reports the activity of other programs."""

import os
import sys
import time

from tuilab.worker.measure import interference

STILL = 0.05
LOOK_S = 2.0


def wait(limit_s: float = 900.0) -> None:
    """Wait until other processes use less than 5% of the processors for two seconds, or until the limit."""
    begun = time.monotonic()
    while time.monotonic() - begun < limit_s:
        before = interference.read_counters()
        time.sleep(LOOK_S)
        seen = interference.pressure_since(before)
        share = (seen.others_s or 0.0) / (seen.wall_s * seen.cores) if seen else 0.0
        if share < STILL:
            return
        print(f"others use {share:.0%} of the processors; waiting", file=sys.stderr)


class Watch:
    """Measures how much other programs use the processors during a benchmark. A child process counts as part
    of the benchmark only once it has ended.
    """

    def __init__(self) -> None:
        self._before, self._own = interference.read_counters(), _own()

    def said(self) -> str:
        """Return a sentence for the table. Call this method after all child processes have ended."""
        now, cores = interference.read_counters(), os.cpu_count() or 1
        if now.busy_s is None or self._before.busy_s is None:
            return "The system does not report what others used during the measurement."
        others = now.busy_s - self._before.busy_s - (_own() - self._own)
        share = max(0.0, others) / ((now.at - self._before.at) * cores)
        word = "" if share < STILL else "NOT STILL: "
        return f"{word}Others used {share:.1%} of {cores} processors during the measurement."


def _own() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
