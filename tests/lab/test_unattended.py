"""A run that continued after its lab had ended gets its result when the next lab imports the run."""

import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.made import regular_run
from tuilab.history import spool
from tuilab.history.lines import UNATTENDED
from tuilab.history.recording import write
from tuilab.history.store import Store
from tuilab.lab.history import History
from tuilab.model.events import Event, Hello, encode
from tuilab.processes import since
from tuilab.spool import DONE, GOING_ON, KEPT, folder


def test_a_finished_run_is_imported_with_its_answer(tmp_path: Path) -> None:
    write(folder(tmp_path) / f"left{DONE}", regular_run("left", 60))
    store = Store.open(tmp_path)
    history = History(store)
    found = history.unattended()
    assert found is not None and found.finished == ("left",) and not found.going_on
    (line,) = (entry.line for entry in history.entries())
    assert line.rounds == 60 and "CPU" in line.answer and UNATTENDED in line.tags
    assert "background" in history.outcome("left")
    again = history.unattended()
    assert again is not None and again.finished == ()
    store.close()


def test_a_history_in_memory_has_no_runs_to_collect() -> None:
    store = Store.in_memory("a test")
    assert History(store).unattended() is None
    store.close()


def process(*words: str) -> "subprocess.Popen[bytes]":
    """Start a process that runs until its standard input is closed."""
    command = [sys.executable, "-S", "-c", "input()", *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)


@pytest.fixture
def stand_in() -> Iterator[int]:
    """Yield the id of a process that looks like a worker of this process."""
    with process("tuilab.worker") as started:
        yield started.pid
        started.kill()


@pytest.fixture
def ended() -> int:
    with process() as started:
        started.kill()
    return started.pid


def left(data: Path, ending: str, **about: object) -> Path:
    """Write the file of a run that has 9 rounds and has not ended."""
    events: list[Event] = [Hello(protocol=1, tuilab="0", **about), *regular_run("r1", 9)[:-1]]
    file = folder(data) / f"r1{ending}"
    file.write_bytes(b"".join(encode(event) for event in events))
    return file


@pytest.mark.parametrize(
    ("ending", "who", "lab", "found"),
    [
        (GOING_ON, "worker", "", "going on"),
        (GOING_ON, "ended", "", "imported"),
        (GOING_ON, "own", "", "imported"),
        (KEPT, "worker", "own", "left"),
        (KEPT, "worker", "ended", "going on"),
        (KEPT, "ended", "own", "left"),
        (KEPT, "ended", "reused", "imported"),
        (KEPT, "ended", "ended", "imported"),
    ],
)
def test_a_run_is_imported_if_both_its_worker_and_its_lab_have_ended(
    ending: str, who: str, lab: str, found: str, tmp_path: Path, stand_in: int, ended: int
) -> None:
    """Covers a process id that now belongs to another process."""
    pids = {"worker": stand_in, "ended": ended, "own": os.getpid(), "reused": os.getpid(), "": 0}
    began = since(os.getpid()) if lab == "own" else 1
    host = socket.gethostname()
    file = left(tmp_path, ending, pid=pids[who], host=host, parent=pids[lab], parent_since=began)
    store = Store.open(tmp_path)
    seen = spool.collect_all(store, tmp_path)
    assert (seen.finished, seen.going_on, seen.elsewhere, seen.problems) == (
        ("r1",) * (found == "imported"), {"r1": stand_in} if found == "going on" else {}, {}, (),
    )  # fmt: skip
    assert file.exists() is (found != "imported")
    assert [(line.run, line.rounds) for line in store.runs()] == [("r1", 9)] * (found == "imported")
    store.close()


def test_a_run_on_another_host_is_imported_once_its_file_is_old(tmp_path: Path, stand_in: int) -> None:
    file = left(tmp_path, GOING_ON, pid=stand_in, host="another", parent=os.getpid())
    store = Store.open(tmp_path)
    assert spool.collect_all(store, tmp_path).elsewhere == {"r1": "another"}
    old = time.time() - 7 * 3_600
    os.utime(file, (old, old))
    assert spool.collect_all(store, tmp_path).going_on == {"r1": stand_in}
    store.close()


def test_a_worker_that_ignores_the_stop_is_killed_and_its_rounds_are_imported(
    tmp_path: Path, stand_in: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left(tmp_path, GOING_ON, pid=stand_in, host=socket.gethostname())
    store = Store.open(tmp_path)
    clock = itertools.chain([0.0, 4.0], itertools.count(6.0, 0.01))
    monkeypatch.setattr(
        spool, "time", SimpleNamespace(monotonic=lambda: next(clock), time=time.time, sleep=time.sleep)
    )
    before = spool.collect_all(store, tmp_path)
    after = spool.settle(store, tmp_path, before, limit_s=10.0)
    assert before.going_on == {"r1": stand_in} and (after.going_on, after.finished) == ({}, ("r1",))
    assert store.status("r1") == "cancelled"
    store.close()
