"""Collects runs that a worker finished, or is still measuring, after its lab exited."""

import contextlib
import fcntl
import os
import signal
import socket
import sqlite3
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from tuilab.history.imports import import_left
from tuilab.history.lines import RunLine
from tuilab.history.runs import count_rounds
from tuilab.history.store import Store, other_folders
from tuilab.model import events as e
from tuilab.model.errors import UNDECODED, CannotBeReadError, InputError
from tuilab.model.files import write_text
from tuilab.model.quantity import plural
from tuilab.paths import PRIVATE_FILE, private_folder
from tuilab.processes import lives, since
from tuilab.spool import BEGUN, DONE, FOLDER, GOING_ON, KEPT, file_of, folder

LOCK = "lock"
AWAY = ".away"
"""Suffix of a file with the process id and start time of a lab that measures a run without a terminal."""
ELSEWHERE_S = 6 * 3600.0
"""A run of another host that shares this folder counts as running for this many seconds after its last
event.
"""
BEGUN_S = 600.0
"""Seconds after which an empty file counts as abandoned: a live writer has written the first line by then."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The result of collecting spooled runs. finished: runs that were added to the history.

    going_on: run → id of the process that continues the run. elsewhere: run → host that continues the run.
    problems: files that were set aside, or left for later. stopped: runs that `settle` waited for.
    """

    finished: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    going_on: dict[str, int] = {}
    elsewhere: dict[str, str] = {}
    problems: tuple[str, ...] = ()


def _elsewhere(data: Path) -> Iterator[Path]:
    """Yield other folders in which workers save runs while the history of the folder `data` is unusable."""
    for other in other_folders(data):
        with contextlib.suppress(OSError):
            if (other / FOLDER).is_dir():
                yield private_folder(other) / FOLDER


def file_in(place: str, run: str) -> str:
    """Return the file in the folder `place` to which a run's events were spooled; "" if there is none."""
    files = (file_of(place, run, ending) for ending in (GOING_ON, KEPT))
    return next((str(file) for file in files if file.exists()), "")


def measured_by(data: Path, run: str) -> int:
    """Return the id of the worker on this host with which another program measures a run of the data folder;
    0 if there is none.
    """
    file = file_in(str(data / FOLDER), run)
    try:
        hello = _hello(Path(file)) if file else None
    except OSError:
        return 0
    if hello is None or hello.parent == os.getpid() or _other_host(Path(file), hello):
        return 0
    return _process(hello)


def mark_away(place: str, run: str) -> None:
    """Record that this process has lost its terminal while it measures a run. Raises OSError."""
    pid = os.getpid()
    write_text(file_of(place, run, AWAY), [f"{pid} {since(pid)}"])


def _away(file: Path) -> int:
    """Return the id of the lab without a terminal that measures a run; 0 if it has ended."""
    try:
        pid, begun = map(int, file.read_text().split())
    except (OSError, ValueError):
        return 0
    return pid if lives(pid, begun) else 0


def outcome(store: Store, line: RunLine) -> str:
    """Return a sentence about the state of an imported run whose lab had exited."""
    name, rounds = line.preset or line.workload, plural(line.rounds, "round")
    if store.deleted(line.run):
        return (
            f"a deleted run of {name} continued in the background; `tuilab history undelete {line.run}` "
            f"restores it with its {rounds}"
        )
    if line.status == "ok":
        return f"a run of {name} finished in the background; it is in the history"
    return f"a run of {name} was cut short when its lab closed; the history has {rounds} of it"


def forget(spool: Path, run: str, store: Store) -> None:
    """Delete the file that a worker wrote for a run, once the history has the whole run.

    If the file has more rounds than the history, these rounds are imported first. The file stays if the
    import fails.
    """
    file = file_of(spool, run)
    with contextlib.suppress(OSError, sqlite3.Error, InputError):
        line = store.line(run)
        if (rounds := _rounds(file)) and rounds > (line.rounds if line else 0):
            import_left(store, file)
        file.unlink()


def _rounds(file: Path) -> int:
    with file.open("rb") as stream:
        return count_rounds(stream)


def collect_all(store: Store, data: Path, stopped: Collection[str] = ()) -> Found:
    """Collect runs from every folder in which workers may have left files for the data folder `data`.

    stopped: as in `collect`.
    """
    found = collect(store, folder(data), stopped)
    for other in _elsewhere(data):
        more = collect(store, other, stopped)
        found = Found(
            finished=found.finished + more.finished,
            going_on={**found.going_on, **more.going_on},
            elsewhere={**found.elsewhere, **more.elsewhere},
            problems=found.problems + more.problems,
        )
    return found


def collect(store: Store, spool: Path, stopped: Collection[str] = ()) -> Found:
    """Import finished runs, list running ones, and set unreadable files aside.

    Imports the rounds of a run whose worker died. Skips a run whose lab has a terminal. stopped: ids of the
    runs that the user has stopped. Raises OSError, and sqlite3.Error if the store rejects a run. The rejected
    run's file stays.
    """
    finished: list[str] = []
    going_on: dict[str, int] = {}
    elsewhere: dict[str, str] = {}
    problems: list[str] = []
    with _alone_in(spool) as alone:
        for file in spool.glob(f"*{BEGUN}") if alone else ():
            _clear_away(file)
        files = [file for suffix in (DONE, GOING_ON, KEPT) for file in sorted(spool.glob(f"*{suffix}"))]
        for file in files if alone else ():
            try:
                hello = None if file.suffix == DONE else _hello(file)
            except OSError as error:
                problems.append(
                    f"{file.name} is currently unreadable and was left in place: {error.strerror}"
                )
                continue
            host = _other_host(file, hello)
            pid = _process(hello) if hello is not None else 0
            if host:
                elsewhere[file.stem] = host
            elif file.suffix == KEPT and hello is not None and _has_lab(hello, pid):
                continue
            elif pid:
                going_on[file.stem] = pid
            else:
                _take_in(store, file, finished, problems, stopped)
        for file in spool.glob(f"*{AWAY}") if alone else ():
            if lab := _away(file):
                going_on[file.stem] = lab
            elif file.stem not in going_on:
                finished += [file.stem] * (file.stem not in finished)
                file.unlink(missing_ok=True)
    return Found(finished=tuple(finished), going_on=going_on, elsewhere=elsewhere, problems=tuple(problems))


def _take_in(
    store: Store, file: Path, finished: list[str], problems: list[str], stopped: Collection[str]
) -> None:
    try:
        finished += import_left(store, file, stopped)
    except CannotBeReadError as error:
        if file.exists():
            problems.append(f"{error}; the file stays until it can be read")
    except InputError as error:
        aside = file.with_suffix(".unreadable")
        file.rename(aside)
        problems.append(f"{error}; kept as {aside.name}")
    else:
        file.unlink()


def _clear_away(begun: Path) -> None:
    """Delete an empty file that is too old to have a live writer."""
    with contextlib.suppress(OSError):
        if time.time() - begun.stat().st_mtime > BEGUN_S:
            begun.unlink()


@contextlib.contextmanager
def _alone_in(spool: Path) -> Iterator[bool]:
    fd = os.open(spool / LOCK, os.O_CREAT | os.O_WRONLY, PRIVATE_FILE)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except OSError:
            pass  # On a file system without locks, two programs may import a run twice, which does no harm.
        yield True
    finally:
        os.close(fd)


def _hello(file: Path) -> e.Hello | None:
    """Return the Hello at the start of the file, if any. Raises OSError if the file is unreadable now."""
    try:
        with file.open("rb") as stream:
            hello = e.decode(stream.readline(10_000))
    except (FileNotFoundError, *UNDECODED):
        return None
    return hello if isinstance(hello, e.Hello) else None


def _other_host(file: Path, hello: e.Hello | None) -> str:
    """Return the host of a run that continues on another host. The process id of such a run means nothing on
    this host.
    """
    if hello is None or hello.host in ("", socket.gethostname()):
        return ""
    with contextlib.suppress(OSError):
        if time.time() - file.stat().st_mtime < ELSEWHERE_S:
            return hello.host
    return ""


def _process(hello: e.Hello) -> int:
    """Return the worker's process id; 0 if the worker has ended.

    Checks the command line, because another process may have the same id by now.
    """
    import psutil

    try:
        command = psutil.Process(hello.pid).cmdline()
    except (psutil.Error, ValueError):
        return 0
    return hello.pid if any("tuilab.worker" in word for word in command) else 0


def _has_lab(hello: e.Hello, pid: int) -> bool:
    """Return True if the program that started the worker of a run is still running.

    pid: process id of the worker, 0 if it has ended.
    """
    import psutil

    try:
        if pid:
            return psutil.Process(pid).ppid() == hello.parent
        lab = psutil.Process(hello.parent)
        return lab.status() != psutil.STATUS_ZOMBIE and since(hello.parent) == hello.parent_since
    except (psutil.Error, ValueError):
        return False


def settle(store: Store, data: Path, before: Found, limit_s: float = 3.0) -> Found:
    """Wait until the stopped workers in `before` have ended, then import their runs.

    Kills a worker that has ignored the stop for half of `limit_s`.
    """
    begun, killed, stopped = time.monotonic(), False, tuple(before.going_on)
    while True:
        after = collect_all(store, data, stopped)
        before = msgspec.structs.replace(
            after,
            finished=(*before.finished, *after.finished),
            problems=before.problems + after.problems,
            stopped=stopped,
        )
        passed = time.monotonic() - begun
        if not before.going_on or passed > limit_s:
            return before
        if passed > limit_s / 2 and not killed:
            killed = True
            for pid in before.going_on.values():
                stop(pid, signal.SIGKILL)
        time.sleep(0.05)


def stop(pid: int, number: int = signal.SIGTERM) -> None:
    """Stop a worker that continues without a lab, or a lab without a terminal. Finished rounds are kept."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
