"""Identifies processes, finds their descendants, and ends them together.

Works only on Linux; elsewhere the functions find nothing and do nothing. Uses only the standard library,
because this file also runs as a program: the guard. The guard outlives a worker to end the processes that the
worker started, and ends the worker if opening a model exceeds its limits.
"""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

MARK = "TUILAB_MARK"
"""Environment variable that marks a worker's descendants, even after their parent changes."""

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_ROUNDS, _BETWEEN_S = 20, 0.05


class Process(NamedTuple):
    pid: int
    since: int
    name: str = ""


def write_all(fd: int, data: bytes) -> None:
    """Write all of the data, even if the system accepts only parts at once. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def die_with_parent(on: bool = True) -> None:
    """Make the kernel kill this process when the thread that started it ends.

    A watching thread would not suffice, because code that never releases the GIL would block it. Call this
    from the main thread, because the setting belongs to the calling thread.
    """
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL if on else 0)
    if on and os.getppid() != parent:  # the parent has already ended
        os.kill(os.getpid(), signal.SIGKILL)


def adopt() -> None:
    """Make this process the parent of orphaned descendants, to find them later."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def since(pid: int) -> int:
    """Return when a process started, in kernel ticks since boot; 0 if unknown.

    Unlike a process id, which may be reused, the id and the start time together identify a process.
    """
    found = _stat(pid)
    return found[1].since if found else 0


def lives(pid: int, begun: int) -> bool:
    """Return True if the process with this id started at `begun` (as from `since`) and has not ended."""
    found = _stat(pid)
    return found is not None and found[1].since == begun and found[2] not in "ZX"


def _stat(pid: int) -> tuple[int, Process, str] | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        name, _, rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")
        fields = rest.split()
        return int(fields[1]), Process(pid, int(fields[19]), name.partition("(")[2]), fields[0]
    return None


def _every() -> dict[int, tuple[int, Process]]:
    out = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and (found := _stat(int(name))) is not None and found[2] not in "ZX":
                out[int(name)] = found[:2]
    return out


def descendants(pid: int) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for parent, process in _every().values():
        children.setdefault(parent, []).append(process)
    out, todo = [], [pid]
    while todo:
        some = children.pop(todo.pop(), [])
        out += some
        todo += [process.pid for process in some]
    return out


def find_marked(mark: str) -> list[Process]:
    """Return this user's other processes whose mark equals or starts with `mark`.

    A worker appends its own mark to the mark that it inherited: `run/worker/nested worker`.
    """
    wanted = f"{MARK}={mark}".encode()
    out = []
    for _, process in _every().values() if mark else ():
        with contextlib.suppress(OSError):
            environment = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            own = any(each == wanted or each.startswith(wanted + b"/") for each in environment)
            if own and process.pid != os.getpid():
                out.append(process)
    return out


def kill(processes: Iterable[Process]) -> list[Process]:
    """Kill these processes, and return those that were killed. Skips processes whose id belongs to a later
    process.
    """
    out = []
    for process in processes:
        if process.pid != os.getpid() and since(process.pid) == process.since:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)
                out.append(process)
    return out


def end_all(
    pid: int, mark: str, known: Iterable[Process] = (), spare: Iterable[Process] = ()
) -> list[Process]:
    """Kill a process's descendants, all processes with its mark, and the processes in `known`. Return them.

    Repeats until no such process is left, because dying processes may start new ones. spare: processes that
    must survive. Guards also survive, because each exits by itself after removing its worker's temporary
    files.
    """
    ended: dict[Process, None] = {}
    spared, before = {process[:2] for process in spare}, list(known)
    for _ in range(_ROUNDS):
        found = [*before, *descendants(pid), *(p for p in find_marked(mark) if p.pid != pid)]
        killed = kill(p for p in dict.fromkeys(found) if p[:2] not in spared and not _is_guard(p.pid))
        for process in killed:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
        if not killed:
            break
        ended.update(dict.fromkeys(killed))
        before = []
        time.sleep(0.005)
    return list(ended)


def guards(processes: Iterable[Process]) -> list[Process]:
    return [each for each in processes if since(each.pid) == each.since and _is_guard(each.pid)]


def _is_guard(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return os.fsencode(__file__) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:4]
    return False


class Guard(NamedTuple):
    """A separate process that ends all processes that the worker started, once the worker or the worker's
    parent is gone.
    """

    process: Process
    pipe: int

    def tell(self, message: bytes) -> None:
        """Send the guard a message: `ALONE` or `WITH_PARENT` (whether this process must end with its parent),
        or `UNLIMITED`.
        """
        with contextlib.suppress(OSError):
            os.write(self.pipe, message + b"\n")

    def limit(self, seconds: float, memory: int) -> None:
        """Let the guard end this process if it exceeds these limits of time (in seconds) or additional memory
        (in bytes).

        The limits hold until the guard gets `UNLIMITED`. The guard prints the reason to standard error. A
        thread could not do this, because HDF5 and protocol buffers hold the interpreter lock while they read.
        """
        self.tell(b"%f %d" % (seconds, memory))


ALONE, WITH_PARENT, UNLIMITED = b"alone", b"with parent", b"unlimited"
_CHECKED_S = 0.05
_own: list[Guard] = []


def own_guard() -> Guard | None:
    return _own[-1] if _own else None


def start_guard(mark: str, folder: str = "") -> Guard | None:
    """Start a guard for this process; return None if that is impossible.

    Without a guard, only `die_with_parent` protects the process. folder: removed by the guard when this
    process has ended.
    """
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return None
    read, write = os.pipe()
    try:
        words = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(os.getppid()), mark, folder]
        actions = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        ]
        pid = os.posix_spawn(sys.executable, words, {}, file_actions=actions, setsid=True)
    except (OSError, NotImplementedError):
        os.close(write)
        return None
    finally:
        os.close(read)
    _own.append(Guard(Process(pid, since(pid)), write))
    return _own[-1]


def _guard(worker: int, parent: int, mark: str, folder: str) -> None:
    """Wait for the end of the worker, or of its parent if the worker must not continue alone. Then end the
    worker's processes.

    folder: the worker's temporary files, which are removed at the end; "" if none.
    """
    itself = _stat(worker)
    with contextlib.suppress(OSError):
        if not _wait(worker, os.pidfd_open(worker), os.pidfd_open(parent)):
            return
    with contextlib.suppress(OSError):
        os.close(2)  # readers of the worker's standard error must not wait for the guard
    # If the worker has ended, do not kill by its id, because another process may have this id by now.
    end_all(worker, mark, [itself[1]] if itself else [])
    time.sleep(_BETWEEN_S)  # wait, to catch processes that were just starting
    end_all(worker, mark)
    if folder and os.path.isdir(folder):
        import shutil  # most guards do not need this import

        shutil.rmtree(folder, ignore_errors=True)


def _wait(pid: int, worker: int, parent: int) -> bool:
    """Wait until the worker's processes must end. Kill the worker if it exceeds its limits.

    worker, parent: file descriptors of the processes. Returns False if the worker has become another program
    with its own guard.
    """
    mode, limits, watched = WITH_PARENT, None, [worker, parent, 0]
    while True:
        ready, _, _ = select.select(watched, [], [], _CHECKED_S if limits else None)
        if worker in ready:
            return True
        if 0 in ready:
            said = os.read(0, 4096)
            if not said:
                return bool(select.select([worker], [], [], _BETWEEN_S)[0])
            for word in said.splitlines():
                if word in (ALONE, WITH_PARENT):
                    mode = word
                else:
                    limits = _Limits(pid, word) if word != UNLIMITED else None
        elif parent in ready:
            if mode == WITH_PARENT:
                return True
            watched.remove(parent)  # the run may continue without its parent
        elif limits and (why := limits.exceeded()):
            os.write(2, f"\ntuilab: opening the model was stopped: {why}\n".encode())
            signal.pidfd_send_signal(worker, signal.SIGKILL)
            limits = None


class _Limits:
    def __init__(self, pid: int, message: bytes) -> None:
        seconds, memory = message.split()
        self._pid, self._seconds, self._memory = pid, float(seconds), int(memory)
        self._begun, self._before = time.monotonic(), _resident(pid)

    def exceeded(self) -> str:
        """Return a sentence about the limit that the process exceeds; "" within the limits."""
        if (taken := _resident(self._pid) - self._before) > self._memory:
            return f"it used {taken / 1e9:.1f} GB of memory; the limit is {self._memory / 1e9:.1f} GB"
        if time.monotonic() - self._begun > self._seconds:
            return f"it did not finish within {self._seconds:.0f} s; the graph may run forever"
        return ""


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


if __name__ == "__main__":
    _guard(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
