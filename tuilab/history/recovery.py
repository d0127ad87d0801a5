"""Recovers a history that is damaged, temporarily unreadable, or not writable."""

import contextlib
import errno
import fcntl
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tuilab.history.connection import Connection, connect, copy, is_damage, why_unread
from tuilab.history.runs import BUSY_S, Runs
from tuilab.history.schema import VERSION
from tuilab.model import held
from tuilab.model.files import open_atomic, open_regular
from tuilab.model.held import BESIDE
from tuilab.model.quantity import plural
from tuilab.model.sanitize import sanitize_line
from tuilab.paths import PRIVATE_FILE, private_folder

LOCK = "recovery.lock"
DAMAGED, OLDER, TAKEN = "-damaged-", "-older-", "-recovered-"
MOST_ASIDE, LOOK_S = 3, 0.3
"""When a history is opened, at most this many renamed files are checked, for at most this many seconds in
total.
"""
BLOCK = 2**20
ROOM = 64 * 2**10
"""Minimum number of bytes that SQLite needs to open a history for writing."""


def sound(file: Path, seconds: float = float("inf"), *, alone: bool = False) -> bool | None:
    """Return True if the file is an undamaged history, False if it is damaged, and None if the check was
    impossible or took longer than `seconds`.

    alone: True if no other program uses the file.
    """
    until = time.monotonic() + seconds
    try:
        with contextlib.closing(connect(file, "rw", alone=alone)) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            rows = connection.execute("PRAGMA quick_check(1)").fetchall()
            connection.execute("SELECT run FROM runs LIMIT 1").fetchone()
            return 0 < version <= VERSION and rows == [("ok",)]
    except sqlite3.Error as error:
        return False if is_damage(error) or "no such table" in str(error) else None


def set_aside(file: Path, mark: str = DAMAGED) -> Path:
    """Rename a history and its log to an unused name. If this raises OSError, nothing has changed.

    A symbolic link stays, and will point to the new history.
    """
    file = file.resolve()
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside, number = file.with_name(f"{file.stem}{mark}{stamp}{file.suffix}"), 1
    while aside.exists():
        number += 1
        aside = file.with_name(f"{file.stem}{mark}{stamp}-{number}{file.suffix}")
    _move(file, aside)
    return aside


def _move(file: Path, to: Path) -> None:
    done: list[tuple[Path, Path]] = []
    try:
        for suffix in (*BESIDE, ""):
            one, other = file.with_name(file.name + suffix), to.with_name(to.name + suffix)
            if not suffix or one.exists():
                one.rename(other)
                done.append((one, other))
    except OSError:
        for one, other in done:
            with contextlib.suppress(OSError):
                other.rename(one)
        raise


def put_back(aside: Path, file: Path) -> None:
    """Undo `set_aside`. Raises OSError."""
    _move(aside, file.resolve())


def mark_recovered(aside: Path) -> Path:
    """Rename a file from `set_aside` once its runs are in the history. Return the file's current path."""
    mark = next((mark for mark in (DAMAGED, OLDER) if mark in aside.name), None)
    if mark is None:
        return aside
    to = aside.with_name(aside.name.replace(mark, TAKEN, 1))
    try:
        _move(aside, to)
    except OSError:
        return aside
    return to


def notices(file: Path) -> list[str]:
    """Return messages about damaged or older histories that were renamed and not imported yet."""
    file = file.resolve()
    try:
        found = [
            aside
            for mark in (OLDER, DAMAGED)
            for aside in sorted(file.parent.glob(f"{file.stem}{mark}*{file.suffix}"), reverse=True)
        ]
    except OSError:
        return []
    lines, until = [], time.monotonic() + LOOK_S
    for aside in found[:MOST_ASIDE]:
        command = f"`tuilab history check --repair {sanitize_line(str(aside), 300)}`"
        if OLDER in aside.name:
            lines.append(f"a history from before the first release was renamed: {command} adds its runs")
        elif sound(aside, until - time.monotonic()):
            lines.append(f"a renamed history is readable again: {command} restores its runs")
        else:
            lines.append(f"a damaged history was renamed: {command} adds all readable runs")
    if len(found) > MOST_ASIDE:
        lines.append(f"{file.parent} contains {plural(len(found) - MOST_ASIDE, 'more renamed file')}")
    return lines


def why_unwritable(file: Path, error: sqlite3.Error | OSError) -> str:
    """Explain to a user why an existing history cannot be written."""
    if "locked" in str(error):  # SQLite also reports `locked` if the file system has no locks (ENOLCK)
        no_locks = not _locks_work(file.parent)
        return "its file system has no locks" if no_locks else "another program has it locked"
    try:
        room = os.statvfs(file.parent)
        if room.f_bavail * room.f_frsize < ROOM:
            return "its disk is full"
        if room.f_flag & os.ST_RDONLY:
            return "its disk is read-only"
    except OSError:
        pass
    if not os.access(file, os.W_OK) or not os.access(file.parent, os.W_OK):
        return "this user has no write permission"
    return sanitize_line((isinstance(error, OSError) and error.strerror) or str(error), 200)


def _locks_work(folder: Path) -> bool:
    """Return True if the folder's file system supports POSIX locks, or if that is unknown. Tests this on a
    separate file.
    """
    try:
        fd = os.open(folder / LOCK, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)
    except OSError:
        return True  # unknown
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EAGAIN)
    finally:
        os.close(fd)
    return True


def copy_file(file: Path, to: Path) -> None:
    with open_regular(file) as source, open_atomic(to) as target:
        shutil.copyfileobj(source, target, BLOCK)


@contextlib.contextmanager
def cramped(file: Path) -> Iterator[tuple[Connection, Path]]:
    """Open a history on a full disk in order to shrink it.

    Meanwhile, SQLite's companion data exists only in memory. A copy of the history is therefore kept
    elsewhere until the end; the copy's path is yielded. Raises sqlite3.Error, and OSError if there is no
    space for the copy.
    """
    folder = Path(tempfile.mkdtemp(prefix="tuilab-history-"))
    kept, begun, done = folder / file.name, False, False
    try:
        with contextlib.closing(connect(file, "rw", alone=True)) as connection:
            with contextlib.closing(connect(kept, bare=True)) as there:
                copy(connection, there)
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA journal_mode = MEMORY")
            begun = True
            yield connection, kept
            connection.execute("VACUUM")
            done = connection.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
    finally:
        if done or not begun or sound(file, alone=True):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def alone_in(file: Path) -> Iterator[None]:
    """Hold the lock for renaming the history. Without lock support in the file system, do nothing."""
    fd = None
    with contextlib.suppress(OSError):
        flags = os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(file.with_name(LOCK), flags, PRIVATE_FILE)
        fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if fd is not None:
            os.close(fd)


def reopen(store: Runs) -> bool:
    """Reopen the file after an error. Return True if the file is undamaged and stays in use.

    Raises sqlite3.Error, and OSError if the file cannot be read at the moment.
    """
    assert store.file is not None
    if store.connection.is_gone:
        return False
    with _stay_connected(store, store.file):
        store.close()
        if why := why_unread(store.file):
            raise OSError(0, f"it is currently unreadable: {why}")
        well = sound(store.file)
        if well is None:
            raise OSError(0, "it is currently unreadable")
        if well:
            store.use(Runs.at(store.file).connection)
        return well


def renew(store: Runs) -> str:
    """Replace a history file that is gone or damaged with a new file. Return a message for the user.

    On failure, raises sqlite3.Error or OSError and keeps the current file open.
    """
    file = store.file
    assert file is not None
    found = store.connection.identity or held.identity(file)
    with _stay_connected(store, file):
        store.close()
        private_folder(file.parent)
        with alone_in(file):
            if (now := held.identity(file)) != found:
                store.use(Runs.at(file).connection)
                what = "removed" if now is None else "replaced by another program"
                also = "; ".join(("", *notices(file)))
                return f"the history's file was {what}; runs are saved to the history in {file.parent}{also}"
            aside = set_aside(file)
            try:
                store.use(Runs.at(file).connection)
            except sqlite3.Error:
                with contextlib.suppress(OSError):
                    put_back(aside, file)
                raise
            return f"the history was damaged; it was renamed to {aside.name}"


@contextlib.contextmanager
def _stay_connected(store: Runs, file: Path) -> Iterator[None]:
    """Keep the store's connection open after a failure; a closed connection would never work again."""
    before = store.connection
    try:
        yield
    finally:
        if store.connection is before and before.identity is None:
            with contextlib.suppress(sqlite3.Error):
                connection = connect(file)
                store.use(connection)
                connection.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1_000)}")
