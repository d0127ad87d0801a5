"""Tampered values in a history are shown, skipped or reported, and never emit an escape sequence."""

import random
import re
import shutil
import sqlite3

import pytest

from tests.attack.test_attack import long, part, table  # noqa: F401
from tests.attack.test_calls_that_fail import environment, template
from tests.calling import here
from tests.cli.test_bad_arguments import TRACE
from tuilab.history.store import FILE

VALUES = [
    None, "", "{", "null", "[]", "{}", b"", b"\xff\xfe", 0, -1, 2**62, 1e308, float("inf"), "[" * 5_000, "x" * 100_000,
    "\x1b[31m\u202e", "9" * 400,
]  # fmt: skip
COMMANDS = [
    "history", "history --json", "history --search stft", "export run1", "export run1 --format csv",
    "history compare run0 run1", "history check", "hosts", "hosts --json", "history prune --days 0",
    "history undelete last", "history programs", "export w0", "history compare w0 w0", "history save run1 own/o.jsonl",
    "history tag run1 x", "history check --repair",
]  # fmt: skip
IDS = {"run", "program", "preset", "parameters", "machine"}
ESCAPE = re.compile("[\x1b\x9b\x07\u202e]")
FEW = 8


def columns(file):
    connection = sqlite3.connect(file)
    named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'found*' AND name NOT GLOB 'sqlite*'"
    found = [
        (name, row[1])
        for (name,) in connection.execute(named)
        for row in connection.execute(f"PRAGMA table_info({name})")
    ]
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return found


def tampered(file, name, column, value) -> bool:
    """Set a column to the value: in one row if the column contains ids, else in every row. Return False if
    the table `name` rejects the value.
    """
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        only = f" WHERE {column} = (SELECT MIN({column}) FROM {name})" if column in IDS else ""
        connection.execute(f"UPDATE {name} SET {column} = ?{only}", (value,))
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return True


@pytest.mark.timeout(3_600)
def test_any_value_in_any_column_is_tolerated(tmp_path, monkeypatch, long):  # noqa: F811
    home, place = template(tmp_path / "home"), tmp_path / "place"
    every = [(*column, value) for column in columns(home / "data" / FILE) for value in VALUES]
    chosen = part(every) if long else random.Random("32 tampered").sample(every, FEW)
    faults = tracebacks = escapes = commands = 0
    for name, column, value in chosen:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(home, place)
        for key, word in environment(place).items():
            monkeypatch.setenv(key, word)
        monkeypatch.chdir(place)
        if not tampered(place / "data" / FILE, name, column, value):
            continue
        for line in COMMANDS:
            done = here(*line.split())
            said = done.stdout + done.stderr
            found = done.returncode not in (0, 2, 4), bool(TRACE.search(said)), bool(ESCAPE.search(said))
            if any(found):
                print(name, column, repr(value)[:40], line, done.returncode, said[-500:])
            commands += 1
            faults, tracebacks, escapes = faults + found[0], tracebacks + found[1], escapes + found[2]
    table(
        "tampered histories", trials=len(chosen), commands=commands, lost=faults, tracebacks=tracebacks, escapes=escapes
    )  # fmt: skip
    assert commands


def test_pruning_a_history_without_runs_deletes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    assert here("history", "prune", "--days", "0").returncode == 0
    assert here("history", "prune", "--days", "0", "--for-good").stderr == "0 runs deleted\n"
