"""Counters of what else used the processors while rounds were measured."""

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tuilab.analysis.contention import Pressure

SHORTEST_S = 0.2
"""Below, the kernel's ticks of 10 ms are too coarse to tell anything."""

_SCHEDSTAT = Path("/proc/thread-self/schedstat")
_GROUPS = Path("/sys/fs/cgroup")
_QUOTA = (
    (_GROUPS / "cpu.stat", "throttled_usec", 1e-6),
    (_GROUPS / "cpu" / "cpu.stat", "throttled_time", 1e-9),
    (_GROUPS / "cpu,cpuacct" / "cpu.stat", "throttled_time", 1e-9),
)


@dataclass(frozen=True)
class Counters:
    """The counters at one moment, in seconds but for `switches`; null for what this system does not tell."""

    at: float
    switches: int
    waited_s: float | None
    throttled_s: float | None
    busy_s: float | None
    own_s: float


def read() -> Counters:
    """The counters now; call it from the thread that measures."""
    return Counters(
        at=time.monotonic(),
        switches=resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw,
        waited_s=_waited(),
        throttled_s=_throttled(),
        busy_s=_busy(),
        own_s=time.process_time(),
    )


def since(before: Counters) -> Pressure | None:
    """What the counters gained since `before`; null where that is too short a while to judge."""
    now = read()
    if now.at - before.at < SHORTEST_S:
        return None
    busy = _gain(before.busy_s, now.busy_s)
    return Pressure(
        wall_s=now.at - before.at,
        cores=len(os.sched_getaffinity(0)),
        switches=now.switches - before.switches,
        waited_s=_gain(before.waited_s, now.waited_s),
        throttled_s=_gain(before.throttled_s, now.throttled_s),
        others_s=None if busy is None else max(0.0, busy - (now.own_s - before.own_s)),
    )


def _gain(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else now - before


def _waited() -> float | None:
    try:
        return int(_SCHEDSTAT.read_text().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return None


def _throttled() -> float | None:
    for path, key, unit in _QUOTA:
        try:
            figures = dict(line.split() for line in path.read_text().splitlines())
            return int(figures[key]) * unit
        except (OSError, ValueError, KeyError):
            continue
    return None


def _busy() -> float | None:
    """CPU seconds spent by anyone, this virtual machine's neighbours included, on the CPUs we may use."""
    every = psutil.cpu_times(percpu=True)
    mine = [times for cpu, times in enumerate(every) if cpu in os.sched_getaffinity(0)]
    return sum(sum(times[:8]) - times.idle - getattr(times, "iowait", 0.0) for times in mine)
