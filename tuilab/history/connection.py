"""Opens a history's files, through SQLite connections that are counted. No other module opens these files.

While a connection is open, no other code opens `history.db` or the files next to it (see `model.held`).
"""

import ctypes
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

from tuilab.model import held
from tuilab.model.errors import InputError, sqlite_code

OPEN_BUSY_S = 1.0
"""Maximum seconds that opening a history waits for another program to release its lock."""
COPY_BUSY_S = 5.0
"""Maximum seconds that a copy waits for another program to release its lock."""
Mode = Literal["rwc", "rw", "ro", "immutable"]
"""rwc: create the file if it is missing. immutable: read without locks."""

_making = threading.Lock()


def is_damage(error: sqlite3.Error) -> bool:
    """Return True if the error means a damaged file, rather than a busy, full or closed one."""
    return sqlite_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_stuck(error: sqlite3.Error) -> bool:
    """Return True if only a new connection helps, because the current connection is closed or has lost a
    lock.
    """
    return isinstance(error, sqlite3.ProgrammingError) or sqlite_code(error) == sqlite3.SQLITE_PROTOCOL


class Connection(sqlite3.Connection):
    """A counted connection.

    Reports invalid text in a column as damage, and rejects statements with invalid text.
    """

    place: Path | None = None
    """Path of the opened file, with links resolved; None for a database in memory."""
    identity: held.Identity | None = None
    """Identity of the file; None once the connection is closed."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement. Raises InputError for values that are not valid text."""
        try:
            return super().execute(sql, parameters)
        except UnicodeEncodeError as error:
            raise InputError("history", error.object, "text in UTF-8") from None
        except UnicodeDecodeError as error:
            damaged = sqlite3.DatabaseError(f"its description is not valid text ({error.reason})")
            damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damaged from None

    @property
    def is_gone(self) -> bool:
        """True if the path no longer leads to the open file, so that new data in the open file would be
        lost.
        """
        return self.identity is not None and held.identity(self.place or Path()) != self.identity

    def close(self) -> None:
        """Close the connection; later calls do nothing.

        When the last connection of any program closes, SQLite removes the log by its name. If another history
        has that name by now, closing would remove that history's log, so the connection stays open until the
        process ends.
        """
        if self.is_gone:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        else:
            super().close()
        if self.identity is not None:
            held.release(self.identity)
            self.identity = None

    def __del__(self) -> None:
        if self.identity is not None:
            self.close()


def connect(
    file: Path | None,
    mode: Mode = "rwc",
    *,
    alone: bool = False,
    bare: bool = False,
    busy_s: float = OPEN_BUSY_S,
) -> Connection:
    """Return a connection with the settings of the history. Raises sqlite3.Error.

    file: None for a database in memory. alone: True if no other program uses the file while it is open, so
    that SQLite needs no shared-memory file. bare: True to read nothing on opening, because the file may be
    damaged.
    """
    if file is None:
        connection = _connection(":memory:", busy_s)
    else:
        way = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
        with _private(file) if mode == "rwc" else nullcontext():
            connection = _connection(f"{file.absolute().as_uri()}?{way}", busy_s)
        connection.place = Path(os.path.realpath(file))
        connection.identity = held.identity(connection.place)
        if connection.identity is not None:
            held.hold(connection.identity)
    connection.text_factory = _text
    try:
        if alone:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        if not bare:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _connection(name: str, busy_s: float) -> Connection:
    return sqlite3.connect(
        name, timeout=busy_s, isolation_level=None, check_same_thread=False, factory=Connection, uri=True
    )


@contextmanager
def _private(file: Path) -> Iterator[None]:
    """Restrict new files to their owner, unless the database already exists.

    SQLite gives its companion files the mode of the database.
    """
    if file.exists():
        yield
        return
    with _making:
        before = os.umask(0o077)
        try:
            yield
        finally:
            os.umask(before)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def copy(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy a database page by page. Raises sqlite3.Error."""
    until = time.monotonic() + COPY_BUSY_S

    def waited(status: int, remaining: int, total: int) -> None:
        # Python would retry a busy database forever.
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > until:
            raise sqlite3.OperationalError("database is locked")

    source.backup(target, progress=waited)


def why_unread(file: Path) -> str:
    """Return why the disk cannot read the file or its log; "" if both are readable.

    Since SQLite 3.28 a statement reports a read error as damage, but copying the pages still reports it as a
    read error. If the file is not a database, the copy stops at the header.
    """
    try:
        with closing(connect(file, "rw", bare=True)) as source, closing(_connection("", 0.0)) as target:
            copy(source, target)
    except sqlite3.Error as error:
        known = is_damage(error) or sqlite_code(error) == sqlite3.SQLITE_FULL
        return "" if known else str(error)
    return ""
