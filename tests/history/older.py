"""A history as an earlier version of the lab left it: each round a line of its own."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tuilab.history.schema import MIGRATIONS
from tuilab.history.store import FILE
from tuilab.model import events as e

RELEASED = 4
"""The schema of 0.1."""


def older(folder: Path, runs: Iterable[Iterable[e.Event]], version: int = RELEASED) -> Path:
    """Make it in that folder, of runs that are over. Returns its file."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / FILE)
    connection.execute("PRAGMA journal_mode = WAL")
    for script in MIGRATIONS[:version]:
        connection.executescript(script)
    connection.execute(f"PRAGMA user_version = {version}")
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
