"""The CPU quota of this process's cgroup, and how often the cgroup has used it up."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Periods:
    """Numbers of active and of throttled scheduler periods since the cgroup was created."""

    total: int
    throttled: int


class Quota:
    """The strictest CPU quota of this process's cgroup and its ancestors, in cgroup version 1 or 2.

    cpus: CPU seconds per second; None without a limit.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self.cpus: float | None = None
        self._folder: Path | None = None
        for folder in _folders(root):
            cpus = _limit(folder)
            if cpus is not None and (self.cpus is None or cpus < self.cpus):
                self.cpus, self._folder = cpus, folder

    def periods(self) -> Periods | None:
        if self._folder is None:
            return None
        numbers = dict(
            line.split()[:2] for line in _read(self._folder / "cpu.stat").splitlines() if " " in line
        )
        try:
            return Periods(int(numbers["nr_periods"]), int(numbers["nr_throttled"]))
        except (KeyError, ValueError):
            return None


def _folders(root: Path) -> list[Path]:
    """Return the folders of the process's cgroup and its ancestors, below `root`."""
    base = root / "sys/fs/cgroup"
    out: list[Path] = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts = [base, base / "unified"]
        elif "cpu" in controllers.split(","):
            mounts = [base / controllers, base / "cpu"]
        else:
            continue
        mount = next((m for m in mounts if m.is_dir()), None)
        if mount is not None:
            inner = mount / path.strip().lstrip("/")
            out += [inner, *(p for p in inner.parents if p == mount or mount in p.parents)]
    return list(dict.fromkeys(out))


def _limit(folder: Path) -> float | None:
    words = _read(folder / "cpu.max").split()
    if not words:
        words = [_read(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    try:
        quota, period = int(words[0]), int(words[1])
    except (ValueError, IndexError):
        return None
    return quota / period if quota > 0 and period > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
