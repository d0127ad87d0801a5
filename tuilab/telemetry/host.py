"""Samples the processors and memory of the host, from the kernel's counters."""

import os
from pathlib import Path
from typing import Any

import psutil

from tuilab.model.telemetry import CpuSample
from tuilab.telemetry.cgroup import Quota

KILO = 1e3
MOST_FILES = 32
"""Maximum number of per-core files to read, so that sampling is fast on hosts with hundreds of cores."""


class Host:
    """Samples the host's CPUs. Shares refer to the time since the previous sample.

    notes: a sentence for each figure that this host does not provide.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        cpus = root / "sys/devices/system/cpu"
        self._clocks = _spread(sorted(cpus.glob("cpufreq/policy*/scaling_cur_freq")))
        self._heat = _spread(sorted(cpus.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")))
        highest = [_number(path) for path in _spread(sorted(cpus.glob("cpufreq/policy*/cpuinfo_max_freq")))]
        self._highest = max((khz * KILO for khz in highest if khz is not None), default=None)
        self._quota = Quota(root)
        self._times: list[Any] = []
        self._periods = self._quota.periods()
        self._events = self._thermal()
        self.notes = [] if self._clocks else ["no CPU clock: this machine does not report it (no cpufreq)"]

    def sample(self) -> CpuSample:
        before, self._times = self._times, psutil.cpu_times(percpu=True)
        shares = [_shares(old, new) for old, new in zip(before, self._times, strict=False)]
        # A share is None if the clock did not tick between two samples.
        known = [share for share in shares if share is not None]
        memory = psutil.virtual_memory()
        return CpuSample(
            use=_mean([busy for busy, _ in known]),
            per_core=tuple(busy for busy, _ in known) if len(known) == len(self._times) else (),
            steal=_mean([steal for _, steal in known]) if hasattr(self._times[0], "steal") else None,
            frequency_hz=_mean([khz * KILO for path in self._clocks if (khz := _number(path)) is not None]),
            frequency_max_hz=self._highest,
            memory_used=memory.total - memory.available,
            memory_total=memory.total,
            load=os.getloadavg()[0],
            quota=self._quota.cpus,
            throttled=self._throttled(),
            thermal_events=self._heated(),
        )

    def _throttled(self) -> float | None:
        before, now = self._periods, self._quota.periods()
        self._periods = now
        if before is None or now is None or now.total <= before.total:
            return None if now is None else 0.0
        return (now.throttled - before.throttled) / (now.total - before.total)

    def _heated(self) -> int | None:
        before, self._events = self._events, self._thermal()
        return None if before is None or self._events is None else max(0, self._events - before)

    def _thermal(self) -> int | None:
        counts = [count for path in self._heat if (count := _number(path)) is not None]
        return sum(counts) if counts else None


def _shares(old: Any, new: Any) -> tuple[float, float] | None:
    """Return the busy and the stolen share of a CPU's time between two readings; None if the clock did not
    tick.

    `user` and `nice` already include the `guest` times (proc(5)).
    """
    spent = {name: max(0.0, getattr(new, name) - getattr(old, name)) for name in new._fields}
    total = sum(seconds for name, seconds in spent.items() if name not in ("guest", "guest_nice"))
    if total <= 0:
        return None
    steal = spent.get("steal", 0.0)
    idle = spent["idle"] + spent.get("iowait", 0.0)
    return max(0.0, 1.0 - (idle + steal) / total), steal / total


def _spread(paths: list[Path]) -> list[Path]:
    """Return at most MOST_FILES of the files, evenly spaced."""
    step = max(1, -(-len(paths) // MOST_FILES))
    return paths[::step]


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
