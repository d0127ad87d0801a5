"""Samples a process, such as the worker: its CPU share, memory and context switches."""

import os
import re
import time
from pathlib import Path

import msgspec
import psutil

from tuilab.model.sanitize import sanitize_line
from tuilab.model.telemetry import GpuProcess, ProcessSample

_SWITCHES = re.compile(rb"^(voluntary|nonvoluntary)_ctxt_switches:\s+(\d+)", re.MULTILINE)


class WatchedProcess:
    """Samples one process. Rates refer to the time since the previous sample."""

    def __init__(self, pid: int, root: Path = Path("/")) -> None:
        self.pid = pid
        self._tasks = root / "proc" / str(pid) / "task"
        self._at: float | None = None
        self._cpu_s = 0.0
        self._switches: dict[str, tuple[int, int]] = {}

    def sample(self) -> tuple[ProcessSample | None, str]:
        """Return a sample, or None and the reason."""
        try:
            process = psutil.Process(self.pid)
            with process.oneshot():
                times, memory, threads = process.cpu_times(), process.memory_info(), process.num_threads()
        except psutil.NoSuchProcess:
            return None, f"process {self.pid} has ended"
        except (psutil.Error, OSError) as error:
            return None, f"process {self.pid} cannot be read: {sanitize_line(str(error), 200)}"
        now, switches = time.monotonic(), self._read_switches()
        elapsed = None if self._at is None else now - self._at
        cpu_s = times.user + times.system
        rates = _rates(self._switches, switches, elapsed)
        out = ProcessSample(
            pid=self.pid,
            use=max(0.0, cpu_s - self._cpu_s) / elapsed if elapsed else None,
            voluntary=rates[0],
            involuntary=rates[1],
            memory=memory.rss,
            threads=threads,
        )
        self._at, self._cpu_s, self._switches = now, cpu_s, switches
        return out, ""

    def _read_switches(self) -> dict[str, tuple[int, int]]:
        """Return the voluntary and involuntary context switches of each thread.

        /proc/PID/status counts only the first thread's switches.
        """
        out = {}
        try:
            tasks = os.listdir(self._tasks)
        except OSError:
            return {}
        for task in tasks:
            try:
                with open(self._tasks / task / "status", "rb") as file:
                    found = dict(_SWITCHES.findall(file.read()))
            except OSError:
                continue  # the thread has ended
            if len(found) == 2:
                out[task] = (int(found[b"voluntary"]), int(found[b"nonvoluntary"]))
        return out


def looked_up(process: GpuProcess) -> GpuProcess:
    """Add the owner and the command line to a process that the GPU driver lists.

    Return the process unchanged if no process with the same id and name is visible to the lab.
    """
    try:
        here = psutil.Process(process.pid)
        with here.oneshot():
            user, command = here.username(), " ".join(here.cmdline())
            name = here.exe().rpartition("/")[2]
    except (psutil.Error, OSError, KeyError):
        return process
    if process.name and name and process.name != name:
        return process  # in a container, another process may have this id
    return msgspec.structs.replace(
        process, user=sanitize_line(user, 40), command=sanitize_line(command or name, 200)
    )


def _rates(
    before: dict[str, tuple[int, int]], now: dict[str, tuple[int, int]], elapsed: float | None
) -> tuple[float | None, float | None]:
    """Return voluntary and involuntary context switches per second. A new thread's counts start from zero."""
    if not elapsed or not now:
        return None, None
    gained = [
        tuple(max(0, new - old) for new, old in zip(counts, before.get(task, (0, 0)), strict=True))
        for task, counts in now.items()
    ]
    return sum(g[0] for g in gained) / elapsed, sum(g[1] for g in gained) / elapsed
