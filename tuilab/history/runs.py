"""Stores the runs of a history in SQLite with WAL mode, so that several programs can read and write at
once.
"""

import contextlib
import sqlite3
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import merge
from math import inf, nextafter
from operator import itemgetter
from pathlib import Path
from typing import Self

import msgspec

from tuilab.history import packed
from tuilab.history.connection import Connection, connect, is_damage, why_unread
from tuilab.history.lines import COLUMNS, RunLine, line_of
from tuilab.history.schema import prepare
from tuilab.history.search import NO_TITLES, condition, escaped
from tuilab.model import events as e
from tuilab.model.brief import Brief
from tuilab.model.errors import UNDECODED
from tuilab.model.rounds import Rounds
from tuilab.model.run import RunState
from tuilab.model.sanitize import sanitize, sanitize_block, sanitize_line
from tuilab.model.scenario import Scenario

BUSY_S = 0.05
"""Maximum seconds that a call waits for another program's lock. This limit is short because the screen waits
for the call.
"""
UNDO_DAYS = 7.0
STAGED = 1.0
"""Deletion time (Unix time) that hides a run while it is being imported. It is so long ago that a purge
removes what a killed import left behind.
"""
_DAY_S = 86_400.0
# A damaged file may contain anything in any column; text and infinity sort above any number.
_MOST = 2**62
_EVENTS = "SELECT number, event FROM events WHERE run = ? AND typeof(number) = 'integer' ORDER BY number"
_PIECES = f"""SELECT first, last, rounds, timed FROM pieces WHERE run = ? AND typeof(first) = 'integer'
    AND typeof(last) = 'integer' AND typeof(timed) = 'real' AND typeof(data) = 'blob'
    AND typeof(rounds) = 'integer' AND rounds BETWEEN 1 AND {packed.MOST} ORDER BY first"""
_FREE = "(deleted_at IS NULL AND pinned = '' AND status IS NOT NULL)"
_SIZE = "CAST(size AS INTEGER)"
PIECE_BYTES = 256 * 2**10
"""A run's unpacked rounds are packed when they reach this number of bytes."""
COMPACT_BYTES, COMPACT_SHARE = 16 * 2**20, 0.25
"""The file is rewritten without its free space if that space is at least this many bytes, and at least this
share of the file.
"""


class PruneCandidates(msgspec.Struct, frozen=True):
    runs: tuple[str, ...] = ()
    size: int = 0


@dataclass(frozen=True)
class Piece:
    """A stored group of consecutive rounds of a run, read on demand."""

    run: str
    first: int
    """Number of the first event; `last` is the number of the last event."""
    last: int
    rounds: int
    timed_s: float
    """Seconds inside timed blocks, from the start of the run to the piece's end."""
    data: Callable[[], bytes]
    """Returns the packed bytes. Raises sqlite3.Error, and packed.Damaged if the bytes are damaged or gone."""
    unread: Callable[[str, Exception], e.Log]
    lines: tuple[tuple[int, e.Event], ...] = ()
    """Other events between the piece's rounds, each with the number of rounds before the event."""

    def unpack(self) -> Rounds | e.Log:
        """Return the piece's rounds as arrays; a log line if the data is damaged."""
        try:
            found = packed.unpack(self.data(), self.timed_s)
            self._check(found.run, found.count)
        except packed.Damaged as error:
            return self._unread(error)
        return found

    def numbered(self) -> list[tuple[int, e.Event]]:
        """Return the piece's rounds with their event numbers; if damaged, a log line."""
        try:
            found = list(packed.rounds(self.data()))
            self._check(found[0][1].run, len(found))
        except packed.Damaged as error:
            return [(self.first, self._unread(error))]
        return list(found)

    def events(self) -> list[e.Event]:
        """Return the piece's events in order. A log line replaces damaged rounds."""
        out, at, found = list[e.Event](), 0, self.numbered()
        for before, event in self.lines:
            out += [each for _, each in found[at:before]]
            out.append(event)
            at = before
        return out + [each for _, each in found[at:]]

    def _check(self, run: str, count: int) -> None:
        if run != self.run or count != self.rounds:
            raise packed.Damaged("rounds of another run or another part of the run")

    def _unread(self, error: Exception) -> e.Log:
        return self.unread(f"stored rounds {self.first} to {self.last}", error)


class Runs:
    """The runs of an open history. Methods raise sqlite3.Error; `Recorder` handles a busy history."""

    def __init__(self, connection: Connection, file: Path | None, messages: Sequence[str] = ()) -> None:
        self.connection = connection
        self.file = file
        self.messages = tuple(messages)
        self.unread: dict[str, str] = {}
        """The first damaged part of each run in which damage was found."""
        self._readable = False
        """True if the disk could read the file when damage was found."""
        self._loose: defaultdict[str, int] = defaultdict(int)

    @classmethod
    def at(cls, file: Path) -> Self:
        """Open or create the history in this file. Raises sqlite3.Error and OtherVersion."""
        connection = connect(file)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            prepare(connection, file)
            connection.execute("SELECT run FROM runs LIMIT 1").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1_000)}")
        except BaseException:
            connection.close()
            raise
        return cls(connection, file)

    def use(self, connection: Connection) -> None:
        self.connection = connection
        self.unread, self._readable = {}, False

    def close(self) -> None:
        self.connection.close()

    def append(
        self, run: str, first: int, lines: Sequence[bytes], started: e.RunStarted | None = None
    ) -> None:
        """Add encoded events of one run in one transaction, numbered from `first`."""
        with self.at_once():
            if started is not None:
                self._begin(started)
            self._insert(run, first, lines)

    def replace(self, started: e.RunStarted, lines: Sequence[bytes]) -> None:
        """Replace a run's events in one transaction, but keep its tags and note."""
        with self.at_once():
            self._begin(started)
            for table in ("events", "pieces", "results"):
                self.connection.execute(f"DELETE FROM {table} WHERE run = ?", (started.run,))
            self.connection.execute(
                "UPDATE runs SET rounds = 0, size = 0, brief = NULL WHERE run = ?", (started.run,)
            )
            self._insert(started.run, 0, lines)
            self._pack(started.run)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Run the body in a transaction."""
        c = self.connection
        c.execute("BEGIN IMMEDIATE")
        try:
            yield
            c.execute("COMMIT")
        except BaseException:
            if c.in_transaction:
                c.execute("ROLLBACK")
            raise

    def _insert(self, run: str, first: int, lines: Sequence[bytes]) -> None:
        numbered = [(run, first + i, line) for i, line in enumerate(lines)]
        self.connection.executemany("INSERT OR IGNORE INTO events VALUES (?, ?, ?)", numbered)
        self.connection.execute(
            "UPDATE runs SET rounds = rounds + ?, size = size + ? WHERE run = ?",
            (count_rounds(lines), sum(map(len, lines)), run),
        )
        self._loose[run] += sum(len(line) for line in lines if e.kind_of(line) == b"round")
        if self._loose[run] >= PIECE_BYTES:
            self._pack(run)

    def _pack(self, run: str) -> None:
        """Pack the run's unpacked rounds, within a transaction."""
        c = self.connection
        last, timed = c.execute(
            "SELECT last, timed FROM pieces WHERE run = ? ORDER BY first DESC LIMIT 1", (run,)
        ).fetchone() or (-1, 0.0)
        rows = c.execute("SELECT number, event FROM events WHERE run = ? AND number > ?", (run, last))
        some: list[tuple[int, e.Round]] = []
        size = 0
        for number, line in rows.fetchall():
            line = as_bytes(line)
            if e.kind_of(line) != b"round":
                continue
            found = packed.exact(line)
            if some and (found is None or found.worker != some[0][1].worker or size >= PIECE_BYTES):
                self._keep_piece(run, some, timed, size)
                some, size = [], 0
            if found is not None:
                some.append((number, found))
                size += len(line)
                timed += found.timed_s
            else:
                timed += _timed_of_line(line)
        if some:
            self._keep_piece(run, some, timed, size)
        self._loose.pop(run, None)

    def _keep_piece(self, run: str, some: list[tuple[int, e.Round]], timed: float, size: int) -> None:
        data = packed.pack(some)
        if data is None or len(data) >= size:
            return
        c = self.connection
        first, last = some[0][0], some[-1][0]
        values = (run, first, last, len(some), timed, data)
        c.execute("INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?, ?, ?)", values)
        gone = [(run, number) for number, _ in some]
        c.executemany("DELETE FROM events WHERE run = ? AND number = ?", gone)
        c.execute("UPDATE runs SET size = MAX(0, size - ?) WHERE run = ?", (size - len(data), run))

    def next_number(self, run: str) -> int:
        query = (
            "SELECT MAX(COALESCE((SELECT MAX(number) FROM events WHERE run = :run AND number < :most), -1),"
            " COALESCE((SELECT MAX(last) FROM pieces WHERE run = :run AND last < :most), -1)) + 1"
        )
        return int(self.connection.execute(query, {"run": run, "most": _MOST}).fetchone()[0])

    def _begin(self, started: e.RunStarted) -> None:
        scenario, machine = msgspec.json.encode(started.scenario), msgspec.json.encode(started.machine)
        values = (started.run, started.at, started.preset, started.scenario.workload, started.machine.host)
        self.connection.execute(
            "INSERT OR IGNORE INTO runs (run, at, preset, workload, host, budget, scenario, machine) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, started.budget.name, scenario, machine),
        )

    def conclude(self, run: str, status: str, answer: str | None = None) -> None:
        """Record how a run ended. answer: replaces the stored answer; None keeps it."""
        with self.at_once():
            self.connection.execute("UPDATE runs SET status = ? WHERE run = ?", (status, run))
            if answer is not None:
                self.answer(run, answer)
            self._pack(run)

    def stage(self, started: e.RunStarted) -> None:
        """Start a run that stays hidden until `undelete`."""
        with self.at_once():
            self._begin(started)
            query = "UPDATE runs SET deleted_at = ? WHERE run = ?"
            self.connection.execute(query, (STAGED, started.run))

    def purge_staged(self, run: str) -> None:
        self.connection.execute("DELETE FROM runs WHERE run = ? AND deleted_at = ?", (run, STAGED))

    def keep_result(self, run: str, of: str, result: bytes) -> None:
        """Save the computed result of a run. of: identifies the other data on which the result depends."""
        values = (run, of, zlib.compress(result, 1))
        self.connection.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", values)

    def result(self, run: str, of: str) -> bytes | None:
        """Return the result that `keep_result` saved for this run and `of`, if any."""
        query = "SELECT result FROM results WHERE run = ? AND of = ?"
        row = self.connection.execute(query, (run, of)).fetchone()
        try:
            return packed.inflated(row[0]) if row else None
        except (zlib.error, TypeError):
            return None

    def answer(self, run: str, answer: str, brief: Brief | None = None) -> None:
        self.connection.execute("UPDATE runs SET answer = ? WHERE run = ?", (sanitize_line(answer), run))
        if brief is not None:
            self.keep_brief(run, brief)

    def keep_brief(self, run: str, brief: Brief) -> None:
        line = msgspec.json.encode(brief).decode()
        self.connection.execute("UPDATE runs SET brief = ? WHERE run = ?", (line, run))

    def status(self, run: str) -> str | None:
        """Return how a run ended; None if the run has not ended or its program was killed."""
        row = self.connection.execute("SELECT status FROM runs WHERE run = ?", (run,)).fetchone()
        return row[0] if row else None

    def runs(
        self, search: str = "", limit: int = 1_000, offset: int = 0, titles: Mapping[str, str] = NO_TITLES
    ) -> list[RunLine]:
        """Return the latest runs that are not deleted and match `search` (see `history.search`)."""
        where, words = condition(search, self.searched, titles)
        return self._listed(f"{where} ORDER BY at DESC LIMIT ? OFFSET ?", (*words, limit, offset))

    def _listed(self, where: str, values: Sequence[object] = ()) -> list[RunLine]:
        rows = self.connection.execute(f"SELECT {COLUMNS} FROM runs WHERE {where}", values).fetchall()
        tags = self.tags([row[0] for row in rows])
        return [line_of(row, tags.get(row[0], ())) for row in rows]

    def last(self) -> RunLine | None:
        """Return the run that this machine recorded last, even if the clock has been reset since then. If
        this machine recorded no run, return the run that was imported last.
        """
        return next(iter(self._listed("deleted_at IS NULL ORDER BY source != '', id DESC LIMIT 1")), None)

    def tags(self, runs: Sequence[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for start in range(0, len(runs), 500):
            some = runs[start : start + 500]
            marks = ",".join("?" * len(some))
            query = f"SELECT run, tag FROM tags WHERE run IN ({marks}) ORDER BY tag"
            for run, tag in self.connection.execute(query, some):
                found[run] = (*found.get(run, ()), tag)
        return found

    def find(self, start: str, *, deleted: bool = False) -> RunLine:
        """Return the run whose id is, or starts with, `start`. Raises KeyError unless exactly one run
        matches.

        deleted: True to search the deleted runs instead of the runs that are not deleted.
        """
        if not start:
            raise KeyError(start)
        which = "deleted_at IS NOT NULL" if deleted else "deleted_at IS NULL"
        where = f"{which} AND run LIKE ? ESCAPE '\\' ORDER BY run != ? LIMIT 2"
        found = self._listed(where, (escaped(start) + "%", start))
        if not found or (len(found) > 1 and found[0].run != start):
            raise KeyError(start)
        return found[0]

    def line(self, run: str) -> RunLine | None:
        """Return the `RunLine` of the run with that id, even if the run is deleted."""
        return next(iter(self._listed("run = ?", (run,))), None)

    def deleted(self, run: str) -> bool:
        query = "SELECT 1 FROM runs WHERE run = ? AND deleted_at IS NOT NULL"
        return self.connection.execute(query, (run,)).fetchone() is not None

    def raw(self, run: str) -> Iterator[tuple[int, bytes]]:
        """Yield a run's encoded events in order with their numbers. Skips damaged events."""
        lines = ((number, as_bytes(line)) for number, line in self.connection.execute(_EVENTS, (run,)))
        rounds = (
            (number, e.encode(event).rstrip())
            for piece in self._pieces(run)
            for number, event in piece.numbered()
            if isinstance(event, e.Round) and piece.first <= number <= piece.last
        )
        yield from merge(lines, rounds, key=itemgetter(0))

    def _pieces(self, run: str) -> Iterator[Piece]:
        for first, last, rounds, timed in self.connection.execute(_PIECES, (run,)):
            told = partial(self._unread, run)
            yield Piece(run, first, last, rounds, timed, partial(self._data, run, first), told)

    def _data(self, run: str, first: int) -> bytes:
        query = "SELECT data FROM pieces WHERE run = ? AND first = ?"
        try:
            row = self.connection.execute(query, (run, first)).fetchone()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            try:  # do not report a temporary read error as damage
                row = self.connection.execute(query, (run, first)).fetchone()
            except sqlite3.Error as again:
                self._must_be_readable()
                raise packed.Damaged(str(again)) from None
        if row is None or not isinstance(row[0], bytes):
            raise packed.Damaged("the rounds are missing")
        return row[0]

    def _must_be_readable(self) -> None:
        """Raise sqlite3.Error if the disk cannot read the file now: such an error is not damage."""
        if self.file is None or self._readable:
            return
        if why := why_unread(self.file):
            raise sqlite3.OperationalError(f"the disk cannot read it: {why}")
        self._readable = True

    def _unread(self, run: str, what: str, error: Exception) -> e.Log:
        text = sanitize_line(f"{what} cannot be read: {error}")
        self.unread.setdefault(run, text)
        return e.Log(text=text, level="error", source="tuilab", run=run)

    def parts(self, run: str) -> Iterator[e.Event | Piece]:
        """Yield a run's events in order.

        Yields consecutive packed rounds, with the events between them, as one piece. A log line replaces
        unreadable data.
        """
        lines = self._lines(run)
        waiting = next(lines, None)
        for piece in self._pieces(run):
            while waiting is not None and waiting[0] < piece.first:
                yield waiting[1]
                waiting = next(lines, None)
            within: list[tuple[int, e.Event]] = []
            while waiting is not None and waiting[0] < piece.last:
                # Events are numbered without gaps.
                before = min(waiting[0] - piece.first - len(within), piece.rounds)
                within.append((before, waiting[1]))
                waiting = next(lines, None)
            yield replace(piece, lines=tuple(within))
        if waiting is not None:
            yield waiting[1]
        yield from map(itemgetter(1), lines)

    def events(self, run: str) -> Iterator[e.Event]:
        """Yield a run's events in order. A log line replaces unreadable data."""
        rounds = (numbered for piece in self._pieces(run) for numbered in piece.numbered())
        yield from map(itemgetter(1), merge(self._lines(run), rounds, key=itemgetter(0)))

    def _lines(self, run: str) -> Iterator[tuple[int, e.Event]]:
        for number, line in self.connection.execute(_EVENTS, (run,)):
            try:
                event = e.decode(as_bytes(line))
            except UNDECODED as error:
                yield number, self._unread(run, f"stored event {number}", error)
            else:
                # The file belongs to the user, but its text may come from anyone.
                yield number, event if isinstance(event, e.Round) else sanitize(event)

    def state(self, run: str, going: Callable[[], None] = lambda: None) -> RunState:
        """Fold a run's events into a RunState. going: called periodically; may raise an exception to stop."""
        state = RunState()
        for count, part in enumerate(self.parts(run)):
            if count % 256 == 0 or isinstance(part, Piece):
                going()
            if not isinstance(part, Piece):
                state.apply(part)
                continue
            found = part.unpack()
            if isinstance(found, Rounds):
                state.take(found)
            else:
                state.apply(found)
            for _, event in part.lines:
                state.apply(event)
        return state

    def find_start(self, run: str) -> tuple[str, Scenario] | None:
        row = self.connection.execute("SELECT at, scenario FROM runs WHERE run = ?", (run,)).fetchone()
        return (row[0], msgspec.json.decode(row[1], type=Scenario)) if row else None

    def came_from(self, run: str, source: str) -> None:
        self.connection.execute("UPDATE runs SET source = ? WHERE run = ?", (sanitize_line(source, 300), run))

    def tag(self, run: str, tag: str, on: bool = True) -> None:
        add, remove = "INSERT OR IGNORE INTO tags VALUES (?, ?)", "DELETE FROM tags WHERE run = ? AND tag = ?"
        self.connection.execute(add if on else remove, (run, sanitize_line(tag, 64)))

    def note(self, run: str, text: str) -> None:
        self.connection.execute("UPDATE runs SET note = ? WHERE run = ?", (sanitize_block(text, 10_000), run))

    def pin(self, run: str, as_: str) -> None:
        """Pin a run as "ghost" or "baseline"; "" unpins the run. A prune never deletes pinned runs."""
        self.connection.execute("UPDATE runs SET pinned = ? WHERE run = ?", (as_, run))

    def undelete(self, run: str) -> bool:
        """Restore a deleted run. Return False if no deleted run has that id."""
        query = "UPDATE runs SET deleted_at = NULL WHERE run = ? AND deleted_at IS NOT NULL"
        return self.connection.execute(query, (run,)).rowcount > 0

    def prune_candidates(self, days: float | None = None, size: int | None = None) -> PruneCandidates:
        """Return the runs to delete: all runs older than `days`, and the oldest of the others until the
        remaining runs take at most `size` bytes.

        Pinned and running runs are kept, but their bytes count. Raises ValueError if `days` or `size` is
        negative or not a number.
        """
        if not (days is None or 0 <= days < inf) or not (size is None or size >= 0):
            raise ValueError(f"{days} days, {size} bytes")
        found: dict[str, int] = {}
        c = self.connection
        limit = ""
        if days is not None:
            past = max(0.0, time.time() - days * _DAY_S)
            limit = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(past))
            found.update(c.execute(f"SELECT run, {_SIZE} FROM runs WHERE {_FREE} AND at < ?", (limit,)))
        if size is not None:
            # Keep the latest runs up to the limit; delete the others.
            kept, total = f"NOT ({_FREE} AND at < ?)", 0
            query = f"SELECT run, {_SIZE}, {_FREE} FROM runs WHERE deleted_at IS NULL AND {kept}"
            query += " ORDER BY at DESC, run"
            for run, own, free in c.execute(query, (limit,)):
                total += own
                if total > size and free:
                    found[run] = own
        return PruneCandidates(tuple(found), sum(found.values()))

    def soft_delete(self, runs: Iterable[str], *, asked: bool = False) -> list[str]:
        """Mark these runs as deleted, which can be undone until `purge`. Return the runs that were marked.

        asked: True if the user named these runs. Otherwise, pinned and unfinished runs are not marked.
        """
        which = "deleted_at IS NULL" if asked else _FREE
        named = dict.fromkeys(runs)
        with self.at_once():
            c = self.connection
            # Make this deletion later than all others, so that it is undone first, even if the clock is
            # wrong.
            (last,) = c.execute("SELECT COALESCE(MAX(CAST(deleted_at AS REAL)), 0) FROM runs").fetchone()
            now = max(time.time(), nextafter(last, inf))
            some = "run IN (SELECT value FROM json_each(?))"
            query = f"UPDATE runs SET deleted_at = ? WHERE {which} AND {some}"
            c.execute(query, (now, msgspec.json.encode(list(named)).decode()))
            there = {run for (run,) in c.execute("SELECT run FROM runs WHERE deleted_at = ?", (now,))}
        return [run for run in named if run in there]

    def undo_delete(self) -> list[str]:
        """Undo the last deletion. Return the restored runs."""
        last = f"deleted_at = (SELECT MAX(deleted_at) FROM runs) AND deleted_at > {STAGED}"
        with self.at_once():
            runs = [run for (run,) in self.connection.execute(f"SELECT run FROM runs WHERE {last}")]
            self.connection.execute(f"UPDATE runs SET deleted_at = NULL WHERE {last}")
        return runs

    def purge(
        self,
        days: float = UNDO_DAYS,
        going: Callable[[int, int], bool] = lambda done, total: True,
        *,
        ended: bool = False,
    ) -> int:
        """Remove runs that were deleted more than `days` ago. Return their number.

        Removes one run at a time, so that other programs can write in between. going: called with the number
        of removed runs and the total; the purge stops if `going` returns False. ended: True to remove only
        finished runs, because unfinished ones may continue.
        """
        limit = time.time() - days * _DAY_S
        query = "SELECT run FROM runs WHERE deleted_at < ?" + " AND status IS NOT NULL" * ended
        runs = self.connection.execute(query, (limit,)).fetchall()
        for done, (run,) in enumerate(runs):
            if not going(done, len(runs)):
                return done
            self.connection.execute("DELETE FROM runs WHERE run = ? AND deleted_at < ?", (run, limit))
        return len(runs)

    def compact(self) -> None:
        """Return the file's free space to the disk if that space is large. Other programs wait meanwhile."""
        c = self.connection
        ((pages,), (free,), (size,)) = (
            c.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count", "page_size")
        )
        if free * size >= COMPACT_BYTES and free >= pages * COMPACT_SHARE:
            # another program uses the file, or the disk has no space for the copy
            with contextlib.suppress(sqlite3.OperationalError):
                c.execute("VACUUM")
                c.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @property
    def searched(self) -> bool:
        """True if this SQLite supports the substring index."""
        query = "SELECT sql LIKE 'CREATE VIRTUAL%' FROM sqlite_master WHERE name = 'found'"
        return bool((self.connection.execute(query).fetchone() or (False,))[0])


def as_bytes(line: object) -> bytes:
    """Return a stored event's bytes, even if the column of a damaged file contains something else."""
    return line if isinstance(line, bytes) else str(line).encode(errors="replace")


def _timed_of_line(line: bytes) -> float:
    try:
        event = e.decode(line)
    except UNDECODED:
        return 0.0
    return event.timed_s if isinstance(event, e.Round) else 0.0


TAKE_PROGRAM = """
INSERT INTO programs (program, at, command, page) VALUES (?, ?, ?, ?)
ON CONFLICT (program) DO UPDATE SET page = excluded.page
WHERE json_extract(CAST(excluded.page AS TEXT), '$.lasted_s') > json_extract(CAST(page AS TEXT), '$.lasted_s')
"""
"""Copies the page of a watched program. If both histories have a page, the later version is kept."""


def count_rounds(lines: Iterable[bytes]) -> int:
    return sum(e.kind_of(line) == b"round" for line in lines)
