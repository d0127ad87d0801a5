"""The history's file in trouble: it cannot be read, is damaged and set aside, or takes nothing more."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tuilab.history.schema import VERSION, OtherVersion, connect, is_damage
from tuilab.model.errors import InputError
from tuilab.model.files import open_regular, written
from tuilab.model.sanitize import sanitize_line

BESIDE = ("-wal", "-shm")
DAMAGED, OLDER, TAKEN = "-damaged-", "-older-", "-recovered-"
MOST_ASIDE, LOOK_S = 3, 0.3
"""So many files that were set aside are looked at when the history is opened, and for so long together."""
BLOCK = 2**20
ROOM = 64 * 2**10
"""Bytes without which SQLite cannot even open a history to write."""


def why_unread(file: Path) -> str:
    """Say why the file's bytes, or those beside it, cannot be had; "" where all of them can."""
    for part in (file, file.with_name(file.name + "-wal")):
        try:
            if part == file or part.exists():
                with open_regular(part) as stream:
                    while stream.read(BLOCK):
                        pass
        except InputError as error:
            return str(error)
        except OSError as error:
            return error.strerror or str(error)
    return ""


def sound(file: Path, seconds: float = float("inf"), *, alone: bool = False) -> bool | None:
    """Return whether the file, read by itself, is a sound history; None where that cannot be told within
    `seconds`.

    alone: on a disk without any room.
    """
    until = time.monotonic() + seconds
    try:
        with contextlib.closing(
            connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, alone=alone)
        ) as connection:
            connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            rows = connection.execute("PRAGMA quick_check(1)").fetchall()
            connection.execute("SELECT run FROM runs LIMIT 1").fetchone()
            return 0 < version <= VERSION and rows == [("ok",)]
    except sqlite3.Error as error:
        return False if is_damage(error) or "no such table" in str(error) else None


def set_aside(file: Path, mark: str = DAMAGED) -> Path:
    """Give a history, with its WAL, a name that is free. Raises OSError; all is then as it was."""
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
    _move(aside, file)


def taken(aside: Path) -> Path:
    """Name a file that was set aside as one whose runs are in the history now; returns its new name."""
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
    """Say what a person should know of files that were set aside, until their runs are taken in."""
    try:
        found = [
            aside
            for mark in (OLDER, DAMAGED)
            for aside in sorted(file.parent.glob(f"{file.stem}{mark}*{file.suffix}"), reverse=True)
        ]
    except OSError:
        return []
    said, until = [], time.monotonic() + LOOK_S
    for aside in found[:MOST_ASIDE]:
        command = f"`tuilab history check --repair {sanitize_line(str(aside), 300)}`"
        if OLDER in aside.name:
            said.append(f"a history from before the first release was set aside: {command} adds its runs")
        elif sound(aside, until - time.monotonic()):
            said.append(f"a history that was set aside reads well now: {command} brings its runs back")
        else:
            said.append(f"a damaged history was set aside: {command} adds what can be read of it")
    if len(found) > MOST_ASIDE:
        said.append(f"{len(found) - MOST_ASIDE} more are kept in {file.parent}")
    return said


def why_unwritable(file: Path, error: sqlite3.Error | OSError) -> str:
    """Say why a history that is there takes nothing, as a person would say it."""
    try:
        room = os.statvfs(file.parent)
        if room.f_bavail * room.f_frsize < ROOM:
            return "its disk is full"
        if room.f_flag & os.ST_RDONLY:
            return "its disk is read-only"
    except OSError:
        pass
    if not os.access(file, os.W_OK) or not os.access(file.parent, os.W_OK):
        return "it may only be read"
    return sanitize_line((isinstance(error, OSError) and error.strerror) or str(error), 200)


def only_read(file: Path, in_memory: bool = False) -> sqlite3.Connection:
    """Return a connection to a history that takes nothing, with all that was kept in it.

    in_memory: to a copy of it, which may be changed. Raises sqlite3.Error, OSError and OtherVersion where it
    cannot be read either.
    """
    wal = file.with_name(file.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        connection = _in_memory(file)
    else:
        connection = connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            raise OtherVersion(file, version)
        if in_memory:
            with contextlib.closing(connection) as there:
                connection = _copied(there)
        connection.execute("SELECT run FROM runs LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _in_memory(file: Path) -> sqlite3.Connection:
    """A copy with what lies in the WAL, which cannot be read without a lock, or writing beside it."""
    try:
        with contextlib.closing(connect(file, alone=True)) as there:
            return _copied(there)
    except sqlite3.Error:
        with tempfile.TemporaryDirectory(prefix="tuilab-") as folder:
            copy = Path(folder) / file.name
            copy_file(file, copy)
            copy_file(file.with_name(file.name + "-wal"), copy.with_name(copy.name + "-wal"))
            with contextlib.closing(connect(copy)) as there:
                return _copied(there)


def _copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    memory = connect(":memory:")
    try:
        connection.backup(memory)
    except BaseException:
        memory.close()
        raise
    return memory


def copy_file(file: Path, to: Path) -> None:
    """Copy a file; the copy is on the disk when this returns. Raises InputError and OSError."""
    with open_regular(file) as source, written(to) as target:
        shutil.copyfileobj(source, target, BLOCK)


@contextlib.contextmanager
def cramped(file: Path) -> Iterator[tuple[sqlite3.Connection, Path]]:
    """Open a history to change it, and make it smaller, on a disk that has no room at all.

    What SQLite needs beside the file is in memory meanwhile; so a copy is kept elsewhere, and named, until
    all is done. Raises sqlite3.Error, and OSError where there is no room elsewhere either.
    """
    folder = Path(tempfile.mkdtemp(prefix="tuilab-history-"))
    copy, begun, done = folder / file.name, False, False
    try:
        with contextlib.closing(connect(file, alone=True)) as connection:
            with contextlib.closing(sqlite3.connect(copy)) as there:
                connection.backup(there)
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA journal_mode = MEMORY")
            begun = True
            yield connection, copy
            connection.execute("VACUUM")
            done = connection.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
    finally:
        if done or not begun or sound(file, alone=True):
            shutil.rmtree(folder, ignore_errors=True)
