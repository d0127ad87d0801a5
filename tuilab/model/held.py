"""Records the databases that this process has open, because no other code in the process may open their
files.

POSIX locks belong to a process: closing any descriptor of a file drops all of the process's locks on it,
including SQLite's (sqlite.org/howtocorrupt.html, section 2.2). Another program may then remove the
write-ahead log of an open database.
"""

import os
import threading
from collections import Counter
from pathlib import Path

Identity = tuple[int, int]
"""Device and inode number of a file."""
BESIDE = ("-wal", "-shm")
"""Suffixes of the files that SQLite keeps next to a database."""

_held: Counter[Identity] = Counter()
_lock = threading.Lock()


def identity(path: Path) -> Identity | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def hold(file: Identity) -> None:
    with _lock:
        _held[file] += 1


def release(file: Identity) -> None:
    with _lock:
        _held[file] -= 1
        if _held[file] <= 0:
            del _held[file]


def users(path: Path) -> int:
    """Return how many connections this process has to the database at that path."""
    found = identity(path)
    with _lock:
        return _held.get(found, 0) if found else 0


def is_held(path: Path) -> bool:
    """Return True if the path is a database that this process has open, or a file next to one."""
    if not _held:
        return False
    name = os.fspath(path)
    return any(users(Path(name.removesuffix(ending))) for ending in ("", *BESIDE) if name.endswith(ending))
