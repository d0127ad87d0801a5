import sqlite3
from pathlib import Path

VERSION = 6
SHAPE = """
    -- brief: the run's summary for lists (`model.brief`, as JSON), computed once. summed: the number of
    -- rounds for which the machine summaries were computed.
    CREATE TABLE runs (
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
        brief TEXT,
        scenario BLOB NOT NULL,
        machine BLOB NOT NULL
    );
    CREATE INDEX runs_by_time ON runs (deleted_at, at DESC, run, size);
    CREATE INDEX runs_to_sum ON runs (run)
        WHERE deleted_at IS NULL AND status IS NOT NULL AND summed IS NOT rounds;
    -- At startup, the lab looks up the pinned runs; few of the many runs are pinned.
    CREATE INDEX runs_pinned ON runs (at DESC) WHERE deleted_at IS NULL AND pinned IN ('ghost', 'baseline');
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
    -- Many rounds per row, packed into arrays (`history.packed`). timed: RunState.timed_s after the piece.
    CREATE TABLE pieces (
        run TEXT NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        rounds INTEGER NOT NULL,
        timed REAL NOT NULL,
        data BLOB NOT NULL,
        UNIQUE (run, first)
    );
    -- Saved results of computations on a run.
    CREATE TABLE results (
        run TEXT PRIMARY KEY REFERENCES runs (run) ON DELETE CASCADE,
        of TEXT NOT NULL,
        result BLOB NOT NULL
    );
    -- Summaries by machine, so that many machines can be compared without reading the events of their runs.
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
    -- Watched programs, each with its page (`model.program`, as JSON).
    CREATE TABLE programs (
        program TEXT PRIMARY KEY,
        at TEXT NOT NULL,
        command TEXT NOT NULL,
        page BLOB NOT NULL
    ) WITHOUT ROWID;
    -- Searchable texts. A search matches any substring.
    FOUND;
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
"""

_TEXTS = "preset, workload, host, answer, note, run, tags"
_FOUND = (
    # Without this index, a search would scan the whole table.
    f"CREATE VIRTUAL TABLE found USING fts5({_TEXTS}, tokenize = 'trigram')",
    f"CREATE TABLE found ({_TEXTS})",
)


class OtherVersion(Exception):
    """The store belongs to another version of tuilab, and this version would misread it."""

    def __init__(self, file: Path, found: int) -> None:
        self.older = found < VERSION
        whose = "an earlier" if self.older else "a newer"
        super().__init__(f"{file} belongs to {whose} tuilab (schema {found}; this one reads {VERSION})")


def prepare(connection: sqlite3.Connection, file: Path) -> None:
    """Create the schema of a new store, in one transaction: a killed program leaves either all of it or
    nothing.

    Raises OtherVersion for another schema, and sqlite3.Error if the schema cannot be read or written.
    """
    if not _is_new(connection, file):
        return
    for found in _FOUND:
        sql = SHAPE.replace("FOUND;", found + ";")
        try:
            connection.executescript(f"BEGIN IMMEDIATE;{sql};PRAGMA user_version = {VERSION};COMMIT;")
            return
        except sqlite3.OperationalError as error:
            connection.rollback()
            # Another program may have created the store between our check and our lock.
            if not _is_new(connection, file):
                return
            if found == _FOUND[-1] or ("fts5" not in str(error) and "trigram" not in str(error)):
                raise


def _is_new(connection: sqlite3.Connection, file: Path) -> bool:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found not in (0, VERSION):
        raise OtherVersion(file, found)
    return not found
