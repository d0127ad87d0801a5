"""Checks a history run by run for damage, and recovers the readable data."""

import contextlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tuilab.history import packed
from tuilab.history.connection import Connection, connect, is_damage, why_unread
from tuilab.history.recovery import TAKEN, alone_in, copy_file, put_back, set_aside
from tuilab.history.runs import STAGED, TAKE_PROGRAM, as_bytes, count_rounds
from tuilab.history.store import Store, connect_to_read
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.errors import UNDECODED
from tuilab.model.files import open_regular
from tuilab.model.machine import Machine
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import BUDGET, Scenario

BUSY_S = 2.0
HEADER = 100
"""Length of a database's header in bytes (sqlite.org/fileformat2.html)."""
MOST_UNREADABLE = 10_000
"""Maximum number of event ids to try one by one after an unreadable event."""


class Damage(msgspec.Struct, frozen=True):
    """A part of the file that differs from the data that was written."""

    run: str
    """Id of the run; "" for the file itself."""
    what: str


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    runs: int = 0
    rounds: int = 0
    findings: tuple[Damage, ...] = ()


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    runs: int = 0
    rounds: int = 0
    lost: tuple[Damage, ...] = ()
    aside: Path | None = None


def check(file: Path, at: Callable[[int, int], None] = lambda done, total: None) -> Checked:
    """Verify a whole history: SQLite's own check, every event, every piece of packed rounds, and each run's
    totals.

    at: called with the number of runs checked so far and the total number of runs. Raises OSError if the file
    cannot be opened.
    """
    found: list[Damage] = []
    rounds = 0
    with contextlib.closing(_source(file)) as connection:
        found += [Damage("", words) for words in _integrity(connection)]
        runs = _runs(connection, found)
        for done, run in enumerate(runs):
            at(done, len(runs))
            count, wrong = _check_run(connection, run)
            rounds += count
            found += _damage(run, wrong)
    return Checked(runs=len(runs), rounds=rounds, findings=tuple(found))


def _damage(run: str, wrong: Iterable[str]) -> list[Damage]:
    return [Damage(sanitize_line(run, 100), sanitize_line(words, 400)) for words in wrong]


def _source(file: Path) -> Connection:
    if not file.is_file():
        raise OSError(0, "there is no such file")
    connection = connect(file, "rw", bare=True, busy_s=BUSY_S)
    try:
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        if not is_damage(error):  # the file is not writable, but may be readable
            connection.close()
            return connect_to_read(file)
    except sqlite3.Error:
        pass
    return connection


def _integrity(connection: sqlite3.Connection) -> list[str]:
    try:
        lines = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
        orphans = connection.execute("PRAGMA foreign_key_check").fetchmany(20)
    except sqlite3.Error as error:
        return [sanitize_line(str(error))]
    wrong = [sanitize_line(words) for words in lines if words != "ok"]
    return wrong + [f"a row in {row[0]} belongs to no run" for row in orphans]


def _runs(connection: sqlite3.Connection, found: list[Damage]) -> list[str]:
    """Return every run that appears in the table, in its indexes or in the events."""
    runs: dict[str, None] = {}
    queries = (
        "SELECT run FROM runs NOT INDEXED",
        "SELECT run FROM runs NOT INDEXED ORDER BY rowid DESC",
        "SELECT run FROM runs ORDER BY run",
        "SELECT run FROM runs ORDER BY deleted_at, at DESC",
        "SELECT DISTINCT run FROM events",
        "SELECT DISTINCT run FROM pieces",
    )
    for query in queries:
        try:
            for (run,) in connection.execute(query):
                if isinstance(run, str):
                    runs.setdefault(run)
        except sqlite3.Error as error:
            if "no such table" not in str(error):
                found.append(Damage("", sanitize_line(f"{query.split(' FROM ')[1]}: {error}")))
    return list(runs)


def _check_run(connection: sqlite3.Connection, run: str) -> tuple[int, list[str]]:
    wrong: list[str] = []
    rounds, begun = 0, False
    try:
        row = _row(connection, run)
        if row is not None and row.get("deleted_at") == STAGED:
            return 0, []  # an interrupted import left this run, which stays hidden until a purge
        for _, _, event in _events(connection, run, wrong):
            begun |= isinstance(event, e.RunStarted)
            rounds += isinstance(event, e.Round)
        for first, count, data in _pieces(connection, run, wrong):
            why = packed.sound(data, run, count)
            if why:
                wrong.append(f"the {count} rounds from event {first} on: {sanitize_line(why, 200)}")
            else:
                rounds += count
    except sqlite3.Error as error:
        return rounds, [*wrong, sanitize_line(str(error))]
    if row is None:
        wrong.append("its entry in the list of runs is missing")
    else:
        if row.get("rounds") != rounds:
            wrong.append(f"{rounds} rounds, but its list entry records {row.get('rounds')}")
        wrong += _texts(row)
    if not begun:
        wrong.append("its beginning is missing")
    return rounds, wrong


def _texts(row: dict[str, Any]) -> Iterator[str]:
    for name, kind in (("scenario", Scenario), ("machine", Machine)):
        try:
            msgspec.json.decode(row[name], type=kind)
        except (*UNDECODED, TypeError, KeyError) as error:
            yield sanitize_line(f"its {name}: {error}", 200)


def _row(connection: sqlite3.Connection, run: str) -> dict[str, Any] | None:
    for query in ("SELECT * FROM runs WHERE run = ?", "SELECT * FROM runs NOT INDEXED WHERE run = ?"):
        with contextlib.suppress(sqlite3.Error):
            cursor = connection.execute(query, (run,))
            row = cursor.fetchone()
            if row is not None:
                return dict(zip([column[0] for column in cursor.description], row, strict=True))
    return None


def _events(
    connection: sqlite3.Connection, run: str, wrong: list[str]
) -> Iterator[tuple[int, bytes, e.Event]]:
    """Yield a run's readable events with their numbers and lines. Adds all other damage to `wrong`."""
    for number, line in _lines(connection, run, wrong):
        try:
            event = e.decode(line)
        except UNDECODED as error:
            wrong.append(sanitize_line(f"event {number}: {error}", 200))
        else:
            yield number, line, event


def _lines(connection: sqlite3.Connection, run: str, wrong: list[str]) -> Iterator[tuple[int, bytes]]:
    """Yield a run's readable lines with their numbers. Skips unreadable lines and adds their damage to
    `wrong`.
    """
    number, failed = -1, 0
    query = "SELECT number, event FROM events WHERE run = ? AND number > ? ORDER BY number"
    while True:
        try:
            for found, line in connection.execute(query, (run, number)):
                if isinstance(found, int):
                    number = found
                yield number, as_bytes(line)
            return
        except sqlite3.Error as error:
            if not failed:
                wrong.append(sanitize_line(f"after event {number}: {error}", 200))
            failed += 1
            number += 1
            if failed > MOST_UNREADABLE:
                return


def _pieces(connection: sqlite3.Connection, run: str, wrong: list[str]) -> Iterator[tuple[int, int, bytes]]:
    try:
        firsts = connection.execute("SELECT rowid, first FROM pieces WHERE run = ?", (run,)).fetchall()
    except sqlite3.Error as error:
        if "no such table" not in str(error):
            wrong.append(sanitize_line(f"its rounds: {error}", 200))
        return
    for rowid, first in sorted(firsts, key=lambda row: str(row[1]).rjust(20)):
        try:
            query = "SELECT rounds, data FROM pieces WHERE rowid = ?"
            row = connection.execute(query, (rowid,)).fetchone()
        except sqlite3.Error as error:
            wrong.append(sanitize_line(f"the rounds from event {first} on: {error}", 200))
            continue
        if row is not None:
            yield first, row[0], row[1] if isinstance(row[1], bytes) else b""


def repair(file: Path, into: Path | None = None) -> Repaired:
    """Copy readable rows into a new history, which replaces the damaged file. Keeps the damaged file under
    another name.

    into: copy the runs into this history instead, and leave the damaged file in place. Raises OSError if the
    disk becomes unreadable, and sqlite3.Error if the new history cannot be written.
    """
    lost: list[Damage] = []
    new = into or file.with_name(f"{file.stem}-repaired{file.suffix}")
    if into is None:
        _remove(new)
    rounds = runs = 0
    with contextlib.closing(Store.at(new)) as store, _readable(file, lost) as connection:
        for run in _runs(connection, lost):
            count = _save(connection, run, store, lost)
            runs += count is not None
            rounds += count or 0
        try:
            programs = connection.execute("SELECT program, at, command, page FROM programs")
            store.connection.executemany(TAKE_PROGRAM, programs)
        except sqlite3.Error as error:
            if "no such table" not in str(error):
                lost.append(Damage("", sanitize_line(f"watched programs: {error}")))
    if lost and (why := why_unread(file)):  # a file that cannot be read now is not necessarily damaged
        if into is None:
            _remove(new)
        raise OSError(0, why)
    if into is not None:
        return Repaired(runs=runs, rounds=rounds, lost=tuple(lost))
    with alone_in(file):
        aside = set_aside(file, TAKEN)
        try:
            new.rename(file.resolve())
        except OSError:
            put_back(aside, file)
            raise
    return Repaired(runs=runs, rounds=rounds, lost=tuple(lost), aside=aside)


def _remove(file: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


@contextlib.contextmanager
def _readable(file: Path, lost: list[Damage]) -> Iterator[sqlite3.Connection]:
    """Yield a connection to the file, or to a copy with a new header if SQLite does not recognize the
    file.
    """
    connection = _source(file)
    copy = None
    try:
        try:
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        except sqlite3.DatabaseError as error:
            lost.append(Damage("", sanitize_line(f"the file's header: {error}")))
            connection.close()
            copy = file.with_name(f"{file.stem}-header{file.suffix}")
            _check_first_page(file)
            copy_file(file, copy)
            _new_header(copy)
            connection = connect(copy, "rw", bare=True, busy_s=BUSY_S)
        yield connection
    finally:
        connection.close()
        if copy is not None:
            _remove(copy)


def _check_first_page(file: Path) -> None:
    """Raise OSError unless an SQLite table follows the header. Without that table, a new header cannot make
    the file readable.
    """
    with open_regular(file) as stream:
        if stream.read(HEADER + 1)[HEADER:] not in (b"\x05", b"\x0d"):
            raise OSError(0, "it is not a history: its first page is not from SQLite")


def _new_header(file: Path, page: int = 4096) -> None:
    """Overwrite the first 100 bytes of the file with the header that SQLite would write
    (sqlite.org/fileformat2.html).
    """
    pages = max(1, file.stat().st_size // page)
    header = b"SQLite format 3\0" + page.to_bytes(2, "big") + bytes([1, 1, 0, 64, 32, 32])
    header += (1).to_bytes(4, "big") + pages.to_bytes(4, "big") + bytes(8) + (1).to_bytes(4, "big")
    header += (4).to_bytes(4, "big") + bytes(8) + (1).to_bytes(4, "big") + bytes(12) + bytes(20)
    header += (1).to_bytes(4, "big") + (3_040_000).to_bytes(4, "big")
    with file.open("r+b") as stream:
        stream.write(header)


KEPT = ("note", "pinned", "source", "answer", "deleted_at", "status")


def _save(connection: sqlite3.Connection, run: str, store: Store, lost: list[Damage]) -> int | None:
    """Save a run in the new store. Return the number of saved rounds; None if nothing was saved."""
    wrong: list[str] = []
    row = _row(connection, run) or {}
    lines = [(number, line) for number, line, _ in _events(connection, run, wrong)]
    for first, count, data in _pieces(connection, run, wrong):
        try:
            some = [(number, e.encode(event).rstrip()) for number, event in packed.rounds(data)]
        except packed.Damaged as error:
            wrong.append(f"the {count} rounds from event {first} on: {sanitize_line(str(error), 200)}")
        else:
            lines += some
    lines.sort(key=lambda line: line[0])
    encoded = [line for _, line in lines]
    started = _find_start(run, row, encoded)
    lost += _damage(run, wrong)
    if started is None:
        lost += _damage(run, [f"its scenario is unknown; {len(lines)} events are lost"])
        return None
    if not any(e.kind_of(line) == b"run-started" for line in encoded):
        encoded.insert(0, e.encode(started).rstrip())
    if store.next_number(run):  # the store already has the events recorded after the file was renamed
        there = [line for _, line in store.raw(run)]
        known = set(there)
        more = [line for line in encoded if e.kind_of(line) == b"round" and line not in known]
        if not more:
            return None
        store.replace(started, [*there[:1], *more, *there[1:]])
        return len(more)
    store.replace(started, encoded)
    for name in KEPT:
        value = row.get(name)
        if value is None or isinstance(value, str | float | int):
            with contextlib.suppress(sqlite3.Error):
                store.connection.execute(f"UPDATE runs SET {name} = ? WHERE run = ?", (value, run))
    with contextlib.suppress(sqlite3.Error):
        for (tag,) in connection.execute("SELECT tag FROM tags WHERE run = ?", (run,)).fetchall():
            store.tag(run, str(tag))
    return count_rounds(encoded)


def _find_start(run: str, row: dict[str, Any], lines: Sequence[bytes]) -> e.RunStarted | None:
    """Return the stored start event of the run, or else build a start event from the run's row in the table
    and the arms of its rounds.
    """
    arms: dict[str, None] = {}
    points: dict[int, None] = {}
    for line in lines:
        event = e.decode(line)
        if isinstance(event, e.RunStarted):
            return event
        if isinstance(event, e.Round):
            arms.update(dict.fromkeys(block.arm for block in event.blocks))
            points.update(dict.fromkeys(block.point for block in event.blocks))
    try:
        scenario = msgspec.json.decode(row["scenario"], type=Scenario)
        machine = msgspec.json.decode(row["machine"], type=Machine)
        return e.RunStarted(
            run=run,
            scenario=scenario,
            arms=tuple(arm for name in arms if (arm := _arm(name)) is not None),
            points=tuple(e.Point(index) for index in sorted(points)) or (e.Point(0),),
            budget=next((b for b in BUDGET.values() if b.name == row.get("budget")), BUDGET["standard"]),
            machine=machine,
            at=str(row.get("at") or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(0))),
            preset=str(row.get("preset") or ""),
        )
    except (*UNDECODED, KeyError, TypeError, ValueError):
        return None


def _arm(name: str) -> Arm | None:
    host, _, rest = name.rpartition("/")
    device, *parts = rest.split(".")
    match = re.fullmatch(r"([a-z]+)(\d+)", device)
    if match is None or len(parts) < 3:
        return None
    together = parts[-1] == "together"
    mode, place, dtype, *variant = parts[: -1 if together else None]
    with contextlib.suppress(msgspec.ValidationError):
        fields = {
            "device": f"{match[1].upper()}:{match[2]}",
            "mode": mode,
            "input": place,
            "dtype": dtype,
            "variant": ".".join(variant),
            "host": host,
            "together": together,
        }
        arm = msgspec.convert(fields, Arm)
        return arm if arm.id == name else None
    return None
