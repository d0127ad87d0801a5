"""The databases that SQLite has open in this process. Nothing else may open them meanwhile.

POSIX locks belong to a process: closing any descriptor of a file drops all locks that the process has on it,
SQLite's too (sqlite.org/howtocorrupt.html, section 2.2). Another program may then remove the log of an open
database.
"""

import os
import threading
from collections import Counter
from pathlib import Path

Identity = tuple[int, int]
"""Device and inode number."""
BESIDE = ("-wal", "-shm")
"""Endings of the files that SQLite keeps alongside a database."""

_held: Counter[Identity] = Counter()
_lock = threading.Lock()


def identity(path: Path) -> Identity | None:
    """Return which file has that name now; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def hold(file: Identity) -> None:
    """Count one more connection to the database."""
    with _lock:
        _held[file] += 1


def release(file: Identity) -> None:
    """Count one connection less."""
    with _lock:
        _held[file] -= 1
        if _held[file] <= 0:
            del _held[file]


def users(path: Path) -> int:
    """Return the number of this process's connections to the database of that name."""
    found = identity(path)
    with _lock:
        return _held.get(found, 0) if found else 0


def is_held(path: Path) -> bool:
    """Return whether the path is a database that SQLite has open here, or a file next to one."""
    if not _held:
        return False
    name = os.fspath(path)
    return any(users(Path(name.removesuffix(ending))) for ending in ("", *BESIDE) if name.endswith(ending))
