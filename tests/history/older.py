"""A history in a pre-release format, which stores a line for each round."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tuilab.history.store import FILE
from tuilab.model import events as e

SHAPE = """
CREATE TABLE runs (run TEXT PRIMARY KEY, at TEXT NOT NULL, preset TEXT NOT NULL, workload TEXT NOT NULL,
    host TEXT NOT NULL, budget TEXT NOT NULL, scenario BLOB NOT NULL, machine BLOB NOT NULL, status TEXT,
    rounds INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0, answer TEXT NOT NULL DEFAULT '',
    note TEXT NOT NULL DEFAULT '', pinned TEXT NOT NULL DEFAULT '', source TEXT NOT NULL DEFAULT '',
    deleted_at REAL, summed INTEGER, brief TEXT);
CREATE TABLE tags (run TEXT NOT NULL REFERENCES runs (run), tag TEXT NOT NULL, PRIMARY KEY (run, tag))
    WITHOUT ROWID;
CREATE TABLE events (run TEXT NOT NULL REFERENCES runs (run), number INTEGER NOT NULL, event BLOB NOT NULL,
    PRIMARY KEY (run, number)) WITHOUT ROWID;
PRAGMA user_version = 4;
"""


def older(folder: Path, runs: Iterable[Iterable[e.Event]]) -> Path:
    """Create an old history from finished runs, each with the tag `kept`. Return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / FILE)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SHAPE)
    for events in runs:
        _add(connection, list(events))
    connection.commit()
    connection.close()
    return folder / FILE


def _add(connection: sqlite3.Connection, events: list[e.Event]) -> None:
    started, ended = events[0], events[-1]
    assert isinstance(started, e.RunStarted)
    lines = [e.encode(event).rstrip() for event in events]
    about = {
        "run": started.run,
        "at": started.at,
        "preset": started.preset,
        "workload": started.scenario.workload,
        "host": started.machine.host,
        "budget": started.budget.name,
        "scenario": msgspec.json.encode(started.scenario),
        "machine": msgspec.json.encode(started.machine),
        "status": ended.status if isinstance(ended, e.Finished) else None,
        "rounds": sum(isinstance(event, e.Round) for event in events),
        "size": sum(map(len, lines)),
        "answer": "CPU graph takes 1 ms.",
    }
    marks = ", ".join("?" * len(about))
    connection.execute(f"INSERT INTO runs ({', '.join(about)}) VALUES ({marks})", tuple(about.values()))
    rows = [(started.run, number, line) for number, line in enumerate(lines)]
    connection.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)
    connection.execute("INSERT INTO tags VALUES (?, 'kept')", (started.run,))
