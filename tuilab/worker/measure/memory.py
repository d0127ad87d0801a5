"""Whether the memory that a point needs is there."""

from pathlib import Path

import psutil

from tuilab.model.parameters import Values
from tuilab.model.quantity import size
from tuilab.workloads.base import Unavailable, Workload

SHARE = 0.9
"""Of the free memory; the rest is left to the system and to what no workload foresees."""

_GROUP = Path("/sys/fs/cgroup")
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def free() -> int:
    """Bytes that this process may still take: what the system has left, or its control group."""
    left = psutil.virtual_memory().available
    for limit, used in _LIMITS:
        try:
            left = min(left, int((_GROUP / limit).read_text()) - int((_GROUP / used).read_text()))
        except (OSError, ValueError):
            continue
    return max(0, left)


def refuse(workload: Workload, values: Values) -> None:
    """Raise Unavailable where the workload says that these values need more memory than is free."""
    needed = workload.memory(values) if workload.memory else 0
    available = free()
    if needed > SHARE * available:
        raise Unavailable(f"needs about {size(needed)} of memory; {size(available)} are free")
