"""The sentences with which the history reports that runs are not saved as usual."""

import errno
import json
import os
import sqlite3
from types import SimpleNamespace

import pytest

from tests.made import GRAPH, run_of, started
from tuilab.history import recorder as recorder_file
from tuilab.history import recovery
from tuilab.history.recorder import Recorder
from tuilab.history.recovery import mark_recovered, notices, put_back, set_aside, sound, why_unwritable
from tuilab.history.schema import VERSION
from tuilab.history.store import BESIDE, FILE, Store
from tuilab.model import events as e


def aside(folder, *names):
    for name in names:
        (folder / f"history-{name}.db").write_bytes(b"no database")
    return folder / FILE


def test_at_most_three_renamed_histories_are_reported_older_ones_first(tmp_path):
    assert notices(tmp_path / FILE) == []
    file = aside(tmp_path, "damaged-1", "damaged-2", "recovered-3")
    Store.open(tmp_path / "whole").close()
    (tmp_path / "whole" / FILE).rename(tmp_path / "history-damaged-3.db")

    def line(name, what, does):
        return f"{what}: `tuilab history check --repair {tmp_path}/history-{name}.db` {does}"

    again = line("damaged-3", "a renamed history is readable again", "restores its runs")
    two, one = (
        line(f"damaged-{number}", "a damaged history was renamed", "adds all readable runs")
        for number in (2, 1)
    )
    assert notices(file) == [again, two, one]
    aside(tmp_path, "older-1")
    first = line("older-1", "a history from before the first release was renamed", "adds its runs")
    assert notices(file) == [first, again, two, f"{tmp_path} contains 1 more renamed file"]


def test_a_renamed_history_gets_an_unused_name_and_can_be_put_back(tmp_path, monkeypatch):
    monkeypatch.setattr(recovery.time, "strftime", lambda form: "20261121-000000")
    names = []
    for number in range(3):
        (tmp_path / FILE).write_text(str(number))
        (tmp_path / f"{FILE}-wal").write_text("log")
        names.append(set_aside(tmp_path / FILE))
    stamp = "history-damaged-20261121-000000"
    assert [path.name for path in names] == [f"{stamp}.db", f"{stamp}-2.db", f"{stamp}-3.db"]
    assert [path.read_text() for path in names] == ["0", "1", "2"] and not (tmp_path / FILE).exists()
    put_back(names[2], tmp_path / FILE)
    assert (tmp_path / FILE).read_text() == "2" and (tmp_path / f"{FILE}-wal").read_text() == "log"
    assert mark_recovered(names[0]).name == "history-recovered-20261121-000000.db"
    assert mark_recovered(tmp_path / FILE) == tmp_path / FILE
    assert mark_recovered(names[0]) == names[0], "the file is gone"


def test_a_history_is_sound_only_with_a_known_version_and_its_tables(tmp_path):
    Store.open(tmp_path).close()
    file, found = tmp_path / FILE, {}
    for version in (0, 1, VERSION, VERSION + 1):
        with sqlite3.connect(file) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        connection.close()
        found[version] = sound(file)
    assert found == {0: False, 1: True, VERSION: True, VERSION + 1: False}
    assert sound(tmp_path / "none.db") is None
    sqlite3.connect(tmp_path / "empty.db").close()
    (tmp_path / "text.db").write_bytes(b"no database" * 1_000)
    assert sound(tmp_path / "empty.db") is False is sound(tmp_path / "text.db")


def disk(free: int = 2**20, read_only: bool = False) -> SimpleNamespace:
    return SimpleNamespace(f_bavail=free, f_frsize=1, f_flag=os.ST_RDONLY * read_only)


@pytest.mark.parametrize(
    ("error", "place", "allowed", "locks", "words"),
    [
        ("database is locked", disk(0), False, True, "another program has it locked"),
        ("database is locked", disk(), True, False, "its file system has no locks"),
        ("disk I/O error", disk(recovery.ROOM - 1, True), False, True, "its disk is full"),
        ("disk I/O error", disk(recovery.ROOM, True), False, True, "its disk is read-only"),
        ("disk I/O error", disk(recovery.ROOM), False, True, "this user has no write permission"),
        ("disk I/O error", disk(), True, True, "disk I/O error"),
    ],
)
def test_a_history_is_unwritable_for_the_first_reason_that_holds(
    tmp_path, monkeypatch, error, place, allowed, locks, words
):
    monkeypatch.setattr(recovery, "_locks_work", lambda folder: locks)
    monkeypatch.setattr(recovery.os, "statvfs", lambda folder: place)
    monkeypatch.setattr(recovery.os, "access", lambda path, mode: allowed)
    assert why_unwritable(tmp_path / FILE, sqlite3.OperationalError(error)) == words
    if allowed and locks:
        for denied in (tmp_path / FILE, tmp_path):
            monkeypatch.setattr(recovery.os, "access", lambda path, mode, denied=denied: path != denied)
            why = why_unwritable(tmp_path / FILE, sqlite3.OperationalError(error))
            assert why == "this user has no write permission"
        monkeypatch.setattr(recovery.os, "access", lambda path, mode: True)
        assert why_unwritable(tmp_path / FILE, OSError(errno.EIO, "it fails")) == "it fails"


def refusing(tmp_path, monkeypatch) -> Recorder:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    recorder = Recorder(Store.open(tmp_path / "data"), clock=lambda: 0.0)

    def refuse() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(recorder, "_write_all", refuse)
    return recorder


def test_pending_events_are_counted_and_saved_in_a_file(tmp_path, monkeypatch):
    recorder, events = refusing(tmp_path, monkeypatch), run_of("r1", 2)
    why = "the history is not writable (disk I/O error)"
    told = [(recorder.record(event), recorder.problem)[1] for event in events]
    assert told == [f"{why}; 1 event waits in memory"] + [
        f"{why}; {count} events wait in memory" for count in (2, 3, 4)
    ]
    assert (recorder.reason, recorder.waiting, recorder.pending) == ("disk I/O error", 4, ["r1"])
    assert not recorder.has_all("r1") and recorder.has_all("r2")
    said = recorder.close()
    [file] = tmp_path.glob("tuilab-runs-*.jsonl")
    assert said == (
        f"{why}; 4 events wait in memory; the missing data is saved in {file}; tuilab history import adds it"
    )


@pytest.mark.parametrize("spooled", [False, True])
def test_runs_that_no_file_takes_are_lost_unless_their_workers_have_saved_them(
    tmp_path, monkeypatch, spooled
):
    recorder = refusing(tmp_path, monkeypatch)
    for run in ("r1", "r2"):
        recorder.record(started(run, GRAPH))
    for event in run_of("r1", 1)[1:]:
        recorder.record(event)

    def full(**_) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recorder_file.tempfile, "mkstemp", full)
    monkeypatch.setattr(recorder_file, "file_of", lambda spool, run: tmp_path / run)
    (tmp_path / "r1").touch()
    if spooled:
        (tmp_path / "r2").touch()
    ending = (
        "the runs are saved in SPOOL, and the next start adds them to the history"
        if spooled
        else "the runs are lost: No space left on device"
    )
    why = "the history is not writable (disk I/O error); 4 events wait in memory"
    assert recorder.close("SPOOL") == f"{why}; {ending}"


def test_runs_in_memory_are_lost_if_no_file_can_be_written(monkeypatch):
    def full(**_) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recorder_file.tempfile, "mkstemp", full)
    recorder = Recorder(Store.in_memory("no disk"))
    for event in run_of("r1", 2):
        recorder.record(event)
    said = "the runs were in memory only; the runs are lost: No space left on device"
    assert recorder.close() == said


def test_runs_in_memory_are_saved_in_a_file_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert Recorder(Store.in_memory("no disk")).close() == ""
    recorder = Recorder(Store.in_memory("no disk"))
    for event in run_of("r1", 2):
        recorder.record(event)
    said = recorder.close()
    [file] = tmp_path.glob("tuilab-runs-*.jsonl")
    assert said == (
        f"the history could not be written anywhere; the missing data is saved in {file}; tuilab history import adds it"
    )


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([e.Finished(run="r1", status="cancelled")], None),
        ([e.Finished(run="r1", status="failed")], "failed"),
        ([e.Finished(run="r1", status="ok")], "failed"),
        ([e.Progress(run="r1", stage="warm-up"), e.Finished(run="r1", status="cancelled")], None),
        ([*run_of("r1", 1)[1:2], e.Finished(run="r1", status="cancelled")], "cancelled"),
        (run_of("r1", 1)[1:], "ok"),
    ],
)  # fmt: skip
def test_a_run_is_kept_with_the_status_that_its_data_justifies(store, events, status):
    recorder = Recorder(store)
    for event in [started("r1", GRAPH), *events]:
        recorder.record(event)
    line = store.line("r1")
    assert (line and line.status) == status and recorder.has_all("r1") and recorder.waiting == 0
    recorder.record(e.Log(run="unknown", text="x", level="info"))
    assert recorder.waiting == 0


def test_a_run_with_too_much_pending_data_keeps_its_start_rounds_and_end(tmp_path, monkeypatch):
    recorder, events = refusing(tmp_path, monkeypatch), run_of("r1", 2)
    logs = [e.Log(run="r1", text="x", level="info")] * 2
    size = sum(len(e.encode(event).rstrip()) for event in [*events[:-1], *logs])
    for most, kept in ((size, 5), (size - 1, 3)):
        monkeypatch.setattr(recorder_file, "MOST_WAITING_BYTES", most)
        recorder._runs.clear()
        for event in [*events[:-1], *logs]:
            recorder.record(event)
        assert recorder.waiting == kept
    kinds = [json.loads(line)["type"] for line in recorder._runs["r1"].waiting]
    assert kinds == ["run-started", "round", "round"]


def test_a_history_that_cannot_be_used_is_replaced_and_named(tmp_path):
    (tmp_path / "piped").mkdir()
    os.mkfifo(tmp_path / "piped" / FILE)
    store = Store.open(tmp_path / "piped")
    why = f"{tmp_path}/piped/{FILE} cannot be opened: it is "
    assert len(store.messages) == 1 and store.messages[0].startswith(f"runs are only in memory: {why}")
    assert store.displaced.startswith("the history cannot be opened: it is ")
    assert (store.file, store.home, store.has_second) == (None, tmp_path / "piped", False)
    assert store.again() is store is store.draft()
    why = f"{tmp_path} cannot be written (Permission denied)"
    assert Store.in_memory(f"{why}; no other folder", tmp_path).displaced == (
        "the data folder cannot be written (Permission denied)"
    )
    Store.open(tmp_path / "newer").close()
    with sqlite3.connect(tmp_path / "newer" / FILE) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    beside = Store.open(tmp_path / "newer")
    assert beside.file == tmp_path / "newer" / BESIDE / FILE
    assert beside.messages[0].startswith(f"runs are saved in {tmp_path}/newer/{BESIDE} for now: ")
    assert beside.displaced and str(tmp_path) not in beside.displaced
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / FILE).write_bytes(b"no database" * 1_000)
    renamed = Store.open(tmp_path / "text")
    [file] = (tmp_path / "text").glob("history-damaged-*.db")
    assert renamed.messages == (
        f"the history was damaged (file is not a database); it was renamed to {file.name}",
    )
    assert renamed.displaced == "" and renamed.has_second
    for each in (store, beside, renamed):
        each.close()
