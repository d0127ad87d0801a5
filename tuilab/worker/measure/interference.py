"""Detects interference by other programs from the speed and load of processors and GPUs."""

import os
import resource
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from tuilab import nvml
from tuilab.analysis.caveats import Pressure
from tuilab.analysis.words import listed, percent
from tuilab.model.events import HostWindow
from tuilab.model.found import Found
from tuilab.model.quantity import size

LOOPS = 2_000
TRIES = 3
MOVED = 0.05
MEMORY = 25


def work() -> int:
    """Compute with integers for about 50 µs, using only registers and the first-level cache."""
    total = 0
    for i in range(LOOPS):
        total += i * i
    return total


class Canary:
    """Runs a short fixed computation before and after each round. If its time differs from the usual time by
    more than 5%, the round is marked as disturbed.

    Each sample is the fastest of three tries, so that it shows a change of processor speed, but not a single
    interruption, which only makes one block an outlier. The usual time is the median of the last 25 accepted
    samples, so a lasting change is reported for a while and then accepted.
    """

    def __init__(self, now: Callable[[], float], work: Callable[[], object] = work) -> None:
        self._now, self._work = now, work
        self._usual: deque[float] = deque(maxlen=MEMORY)
        self._before = 0.0

    def start(self) -> None:
        self._before = self._sing()

    def after(self) -> tuple[float, bool]:
        """Return the longer of the times before and after the round, and True if either time shows a changed
        speed.
        """
        before, self._before = self._before, self._sing()
        around = (before, self._before)
        usual = statistics.median(self._usual) if self._usual else min(around)
        return max(around), any(abs(song / usual - 1) > MOVED for song in around)

    def accept(self) -> None:
        self._usual.append(self._before)

    def _sing(self) -> float:
        return min(self._once() for _ in range(TRIES))

    def _once(self) -> float:
        begun = self._now()
        self._work()
        return max(self._now() - begun, 1e-9)


SHORTEST_S = 0.2
"""Minimum seconds for measuring the load. A shorter interval contains too few of the kernel's 10 ms ticks."""

_SCHEDSTAT = Path("/proc/thread-self/schedstat")
_GROUPS = Path("/sys/fs/cgroup")
_QUOTA = (
    (_GROUPS / "cpu.stat", "throttled_usec", 1e-6),
    (_GROUPS / "cpu" / "cpu.stat", "throttled_time", 1e-9),
    (_GROUPS / "cpu,cpuacct" / "cpu.stat", "throttled_time", 1e-9),
)


@dataclass(frozen=True)
class Counters:
    """Readings of the system's counters at one moment, in seconds except for `switches`. A reading is None if
    the system does not report it.
    """

    at: float
    switches: int
    waited_s: float | None
    throttled_s: float | None
    busy_s: float | None
    own_s: float

    def without(self, a: "Counters", b: "Counters") -> "Counters":
        """Return these readings plus the growth from `a` to `b`, so that later differences exclude that
        interval.
        """
        return Counters(
            at=self.at + b.at - a.at,
            switches=self.switches + b.switches - a.switches,
            waited_s=_add(self.waited_s, _gain(a.waited_s, b.waited_s)),
            throttled_s=_add(self.throttled_s, _gain(a.throttled_s, b.throttled_s)),
            busy_s=_add(self.busy_s, _gain(a.busy_s, b.busy_s)),
            own_s=self.own_s + b.own_s - a.own_s,
        )

    def since(self, before: "Counters") -> Pressure:
        busy = _gain(before.busy_s, self.busy_s)
        return Pressure(
            wall_s=self.at - before.at,
            cores=len(os.sched_getaffinity(0)),
            switches=self.switches - before.switches,
            waited_s=_gain(before.waited_s, self.waited_s),
            throttled_s=_gain(before.throttled_s, self.throttled_s),
            others_s=None if busy is None else max(0.0, busy - (self.own_s - before.own_s)),
        )


def read_counters() -> Counters:
    """Return the current readings. Call this from the measuring thread."""
    return Counters(
        at=time.monotonic(),
        switches=resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw,
        waited_s=_waited(),
        throttled_s=_throttled(),
        busy_s=_busy(),
        own_s=time.process_time(),
    )


def pressure_since(before: Counters) -> Pressure | None:
    """Return the growth of the counters since `before`; None if the interval is shorter than `SHORTEST_S`."""
    now = read_counters()
    return None if now.at - before.at < SHORTEST_S else now.since(before)


WINDOW_S = 0.25
"""Seconds per window: long enough for the kernel's ticks to show what other processes use, but shorter than
most bursts of activity.
"""


class HostWatch:
    """Records the load by other processes, in windows of successive rounds.

    whole: treat all rounds and the warm-up as one window, because a short process ends before the kernel's
    ticks show any load.
    """

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        read: Callable[[], Counters] = read_counters,
        whole: bool = False,
    ) -> None:
        self._now, self._read, self._whole = now, read, whole
        self._seen: list[HostWindow] = []
        self._songs: list[float] = []
        self._first, self._before = 0, read()

    def start(self, index: int) -> None:
        self._first, self._songs, self._before = index, [], self._read()

    def after(self, song: float, index: int) -> None:
        """End round `index`. song: the longer of the canary's times before and after the round."""
        self._songs.append(song)
        if not self._whole:
            self._close(index, WINDOW_S)

    def windows(self, index: int) -> tuple[HostWindow, ...]:
        if self._songs:
            self._close(index - 1, SHORTEST_S / 2 if self._whole else SHORTEST_S)
        seen, self._seen = tuple(self._seen), []
        return seen

    def _close(self, last: int, least_s: float) -> None:
        if self._now() - self._before.at < least_s:
            return
        now = self._read()
        seen = now.since(self._before)
        if seen.others_s is not None:
            rounds, song = last + 1 - self._first, statistics.median(self._songs)
            self._seen.append(HostWindow(self._first, rounds, seen.others_s / seen.wall_s, song))
        self._first, self._songs, self._before = last + 1, [], now


def _gain(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else now - before


def _add(before: float | None, gain: float | None) -> float | None:
    return None if before is None or gain is None else before + gain


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
    """Return the CPU seconds that all processes and other virtual machines have used on this process's
    CPUs.
    """
    every = psutil.cpu_times(percpu=True)
    mine = [times for cpu, times in enumerate(every) if cpu in os.sched_getaffinity(0)]
    return sum(sum(times[:8]) - times.idle - getattr(times, "iowait", 0.0) for times in mine)


SLOWED_SHARE = 0.01
"""A caveat is reported if a GPU was throttled for more than this share of the measuring time."""


class GpuWatch:
    def __init__(self, by_name: dict[str, str], used: Iterable[str]) -> None:
        self._buses = {name: by_name[name] for name in sorted(set(used)) if name in by_name}
        self._begun, self._since = time.monotonic(), time.time()
        self._before = {name: nvml.slowed(bus) for name, bus in self._buses.items()}

    def flags(self) -> list[Found]:
        """Return caveats about the GPUs since the start of the run: lowered clocks, and other processes on a
        GPU.
        """
        out = []
        elapsed = max(time.monotonic() - self._begun, 1e-9)
        for name, bus in self._buses.items():
            gained = {why: s - self._before[name].get(why, s) for why, s in nvml.slowed(bus).items()}
            causes = {why: s / elapsed for why, s in gained.items() if s > SLOWED_SHARE * elapsed}
            if causes:
                told = [f"{why} for {percent(min(1.0, share))} of the time" for why, share in causes.items()]
                out.append(Found("throttled", f"{name} was {listed(told)}"))
            if others := nvml.busy_processes(bus, self._since):
                named = [f"{p.name or p.pid}" + (f" ({size(p.memory)})" if p.memory else "") for p in others]
                out.append(Found("gpu-shared", f"{name} is shared: {listed(named)} used it during the run"))
        return out
