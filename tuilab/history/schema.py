"""The shape of the store, and how an older one becomes the present one."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

from tuilab.model.errors import InputError
from tuilab.paths import private_file

# Each step turns the store of version n into one of version n + 1.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE runs (
        run TEXT PRIMARY KEY,
        at TEXT NOT NULL,
        preset TEXT NOT NULL,
        workload TEXT NOT NULL,
        host TEXT NOT NULL,
        budget TEXT NOT NULL,
        scenario BLOB NOT NULL,
        machine BLOB NOT NULL,
        status TEXT,
        rounds INTEGER NOT NULL DEFAULT 0,
        size INTEGER NOT NULL DEFAULT 0,
        answer TEXT NOT NULL DEFAULT '',
        note TEXT NOT NULL DEFAULT '',
        pinned TEXT NOT NULL DEFAULT '',
        source TEXT NOT NULL DEFAULT '',
        deleted_at REAL
    );
    CREATE INDEX runs_by_time ON runs (deleted_at, at DESC);
    CREATE TABLE tags (
        run TEXT NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
        tag TEXT NOT NULL,
        PRIMARY KEY (run, tag)
    ) WITHOUT ROWID;
    CREATE TABLE events (
        run TEXT NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        event BLOB NOT NULL,
        PRIMARY KEY (run, number)
    ) WITHOUT ROWID;
    """,
    # What each machine of a run stands at, so that many can be compared without reading their events.
    # `summed`: the run's rounds when that was worked out.
    """
    ALTER TABLE runs ADD COLUMN summed INTEGER;
    CREATE INDEX runs_to_sum ON runs (run)
        WHERE deleted_at IS NULL AND status IS NOT NULL AND summed IS NOT rounds;
    CREATE TABLE standings (
        preset TEXT NOT NULL,
        parameters TEXT NOT NULL,
        machine TEXT NOT NULL,
        run TEXT NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
        at TEXT NOT NULL,
        standing BLOB NOT NULL,
        PRIMARY KEY (preset, parameters, machine)
    ) WITHOUT ROWID;
    CREATE INDEX standings_of_run ON standings (run);
    """,
    # A run's line in a list (`model.brief`, as JSON), worked out once.
    """
    ALTER TABLE runs ADD COLUMN brief TEXT;
    """,
    # A start looks for the pinned runs, of which there are few among many.
    """
    CREATE INDEX runs_pinned ON runs (at DESC) WHERE deleted_at IS NULL AND pinned IN ('ghost', 'baseline');
    """,
    # Rounds as arrays, many to a row (`history.packed`), results as they were worked out, and texts found by
    # any part of them. Runs get a number of their own, by which the texts know them. `loose`: rounds that an
    # earlier version left as lines are still to be packed. timed: RunState.timed_s after a piece.
    """
    CREATE TABLE runs_now (
        id INTEGER PRIMARY KEY,
        run TEXT NOT NULL UNIQUE,
        at TEXT NOT NULL,
        preset TEXT NOT NULL,
        workload TEXT NOT NULL,
        host TEXT NOT NULL,
        budget TEXT NOT NULL,
        status TEXT,
        rounds INTEGER NOT NULL DEFAULT 0,
        size INTEGER NOT NULL DEFAULT 0,
        answer TEXT NOT NULL DEFAULT '',
        note TEXT NOT NULL DEFAULT '',
        pinned TEXT NOT NULL DEFAULT '',
        source TEXT NOT NULL DEFAULT '',
        deleted_at REAL,
        summed INTEGER,
        loose INTEGER NOT NULL DEFAULT 0,
        brief TEXT,
        scenario BLOB NOT NULL,
        machine BLOB NOT NULL
    );
    INSERT INTO runs_now (run, at, preset, workload, host, budget, status, rounds, size, answer, note, pinned,
            source, deleted_at, summed, loose, brief, scenario, machine)
        SELECT run, at, preset, workload, host, budget, status, rounds, size, answer, note, pinned, source,
            deleted_at, summed, rounds > 0, brief, scenario, machine FROM runs ORDER BY at;
    DROP TABLE runs;
    ALTER TABLE runs_now RENAME TO runs;
    CREATE INDEX runs_by_time ON runs (deleted_at, at DESC, run, size);
    CREATE INDEX runs_to_sum ON runs (run)
        WHERE deleted_at IS NULL AND status IS NOT NULL AND summed IS NOT rounds;
    CREATE INDEX runs_pinned ON runs (at DESC) WHERE deleted_at IS NULL AND pinned IN ('ghost', 'baseline');
    CREATE INDEX runs_loose ON runs (at DESC) WHERE loose;
    CREATE TABLE pieces (
        run TEXT NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        rounds INTEGER NOT NULL,
        timed REAL NOT NULL,
        data BLOB NOT NULL,
        UNIQUE (run, first)
    );
    CREATE TABLE results (
        run TEXT PRIMARY KEY REFERENCES runs (run) ON DELETE CASCADE,
        of TEXT NOT NULL,
        result BLOB NOT NULL
    );
    FOUND;
    INSERT INTO found (rowid, preset, workload, host, answer, note, run, tags)
        SELECT id, preset, workload, host, answer, note, run,
            COALESCE((SELECT group_concat(tag, char(10)) FROM tags WHERE tags.run = runs.run), '') FROM runs;
    CREATE TRIGGER found_new AFTER INSERT ON runs BEGIN
        INSERT INTO found (rowid, preset, workload, host, answer, note, run, tags)
            VALUES (new.id, new.preset, new.workload, new.host, new.answer, new.note, new.run, '');
    END;
    CREATE TRIGGER found_changed AFTER UPDATE OF answer, note ON runs
        WHEN old.answer IS NOT new.answer OR old.note IS NOT new.note BEGIN
        UPDATE found SET answer = new.answer, note = new.note WHERE rowid = new.id;
    END;
    CREATE TRIGGER found_gone AFTER DELETE ON runs BEGIN
        DELETE FROM found WHERE rowid = old.id;
    END;
    CREATE TRIGGER found_tagged AFTER INSERT ON tags BEGIN
        UPDATE found SET tags = (SELECT group_concat(tag, char(10)) FROM tags WHERE run = new.run)
            WHERE rowid = (SELECT id FROM runs WHERE run = new.run);
    END;
    CREATE TRIGGER found_untagged AFTER DELETE ON tags BEGIN
        UPDATE found
            SET tags = COALESCE((SELECT group_concat(tag, char(10)) FROM tags WHERE run = old.run), '')
            WHERE rowid = (SELECT id FROM runs WHERE run = old.run);
    END;
    """,
    # Watched programs: each one's page (`model.program`, as JSON).
    """
    CREATE TABLE programs (
        program TEXT PRIMARY KEY,
        at TEXT NOT NULL,
        command TEXT NOT NULL,
        page BLOB NOT NULL
    ) WITHOUT ROWID;
    """,
)
VERSION = len(MIGRATIONS)
OPEN_BUSY_S = 1.0
"""How long an open waits for another program's lock."""

_TEXTS = "preset, workload, host, answer, note, run, tags"
_FOUND = (
    # Where this Python's SQLite has no index of parts of words, the same table is looked through.
    f"CREATE VIRTUAL TABLE found USING fts5({_TEXTS}, tokenize = 'trigram')",
    f"CREATE TABLE found ({_TEXTS})",
)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the error says that the file itself is no sound database, rather than busy, full or closed."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Connection(sqlite3.Connection):
    """One that says of names that are no text, too, that the file is damaged, and refuses such words."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement. Raises InputError for a word that is no text, as bytes may be."""
        try:
            return super().execute(sql, parameters)
        except UnicodeEncodeError as error:
            raise InputError("history", error.object, "text in UTF-8") from None
        except UnicodeDecodeError as error:
            damaged = sqlite3.DatabaseError(f"its own description is no text ({error.reason})")
            damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damaged from None


def connect(file: Path | str, *, uri: bool = False, alone: bool = False) -> sqlite3.Connection:
    """A connection as every part of the history uses it. Raises sqlite3.Error.

    alone: no other program gets at it meanwhile, and SQLite needs no memory that is shared, which is a file.
    """
    connection = sqlite3.connect(
        file, timeout=OPEN_BUSY_S, isolation_level=None, check_same_thread=False, factory=Connection, uri=uri
    )
    connection.text_factory = _text
    try:
        if alone:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -16000")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _text(data: bytes) -> str:
    """A stored text, whatever its bytes are."""
    return data.decode(errors="replace")


class TooNew(Exception):
    """The store was written by a later tuilab, whose data this one would misread."""


def migrate(connection: sqlite3.Connection, file: Path, *, backup: bool = True) -> Path | None:
    """Bring the store to the present version; returns the backup made before, if one was needed.

    Raises TooNew for a store of a later version, sqlite3.Error where it cannot be read, and OSError.
    """
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > VERSION:
        raise TooNew(f"{file} has schema {found}; this tuilab knows up to {VERSION}")
    if found == VERSION:
        return None
    kept = _backup(connection, file, found) if backup and _holds_something(connection) else None
    # A table is replaced by another of its name, to which the others' rows still belong.
    connection.execute("PRAGMA foreign_keys = OFF")
    try:
        if not found:
            # At once, so that a disk that fills leaves nothing that looks like an older history.
            _steps(connection, 0, VERSION)
        for number in range(found, VERSION if found else 0):
            _steps(connection, number, number + 1)
    finally:
        connection.execute("PRAGMA foreign_keys = ON")
    return kept


def _holds_something(connection: sqlite3.Connection) -> bool:
    """Whether there is a run, or a watched program, that an upgrade could harm."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('runs', 'programs')"
    tables = connection.execute(query).fetchall()
    return any(connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for (name,) in tables)


def _steps(connection: sqlite3.Connection, first: int, end: int) -> None:
    """From one version to another, whole or not at all, whatever ends this program meanwhile."""
    last: sqlite3.OperationalError | None = None
    steps = ";".join(MIGRATIONS[first:end])
    for found in _FOUND if "FOUND;" in steps else _FOUND[:1]:
        sql = steps.replace("FOUND;", found + ";")
        script = f"BEGIN IMMEDIATE;{sql};PRAGMA user_version = {end};COMMIT;"
        try:
            connection.executescript(script)
            return
        except sqlite3.OperationalError as error:
            connection.rollback()
            # Another program may have migrated the store between our look and our lock.
            (now,) = connection.execute("PRAGMA user_version").fetchone()
            if now >= end:
                return
            last = error
            if "fts5" not in str(error) and "trigram" not in str(error):
                break
    assert last is not None
    raise last


def _backup(connection: sqlite3.Connection, file: Path, version: int) -> Path:
    """The store as it was, beside it; whole from the moment that it has its name."""
    path = file.with_name(f"{file.name}.v{version}.backup")
    part = file.with_name(f"{path.name}.{os.getpid()}")
    try:
        with contextlib.closing(sqlite3.connect(private_file(part))) as target:
            connection.backup(target)
        part.rename(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path
