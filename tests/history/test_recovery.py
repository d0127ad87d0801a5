"""A history that is temporarily unreadable, renamed, read-only, or on a full disk."""

import contextlib
import errno
import fcntl
import itertools
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter

import pytest

from tests.attack.shim import FOREVER, faulty  # noqa: F401
from tests.attack.test_calls_that_fail import WORKER, rounds_in
from tests.calling import here
from tests.history.older import older
from tests.history.test_check import filled, rounds
from tests.history.test_store import keep
from tests.made import regular_run, run_of, started
from tests.made import rounds as some_rounds
from tuilab.history import connection, recording, recovery, spool
from tuilab.history.browse import Entry
from tuilab.history.recorder import Recorder
from tuilab.history.recording import write
from tuilab.history.runs import Runs
from tuilab.history.store import FILE, Store
from tuilab.lab.export import write_several
from tuilab.lab.history import CancellableProgress, HistoryClient
from tuilab.model import events as e
from tuilab.spool import DONE, folder

FORMATS = ("json", "csv", "markdown", "html")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    filled(tmp_path / "data", 3)
    return tmp_path / "data"


@contextlib.contextmanager
def disk(place, size):
    """Mount a separate file system and yield its folder. Skips the test if mounting fails."""
    place.mkdir(parents=True, exist_ok=True)
    if (
        sys.platform != "linux"
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True
        ).returncode
    ):
        pytest.skip("a file system of its own needs the right to mount one")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place):
    with contextlib.suppress(OSError), (place / "filler").open("ab", buffering=0) as stream:
        while True:
            stream.write(b"\0" * 4096)


@pytest.fixture
def full(tmp_path, monkeypatch):
    with disk(tmp_path / "disk", "2m") as place:
        monkeypatch.setenv("TUILAB_DATA", str(place / "data"))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        filled(place / "data", 3)
        fill(place)
        yield place / "data"


# Temporarily unreadable


def test_a_read_error_while_opening_sets_nothing_aside(data, faulty):  # noqa: F811
    whole = {f"run{number}": 300 for number in range(3)}
    calls = faulty.play(["history"], ("read", FOREVER, 1, errno.EIO), below=data, TUILAB_DATA=str(data)).calls
    assert calls > 3
    listed = 0
    for number in range(1, calls + 1):
        for times in (1, FOREVER):
            fault = ("read", number, times, errno.EIO)
            done = faulty.play(["history"], fault, below=data, TUILAB_DATA=str(data))
            assert done.code in (0, 2) and "Traceback" not in done.said, (fault, done)
            assert not list(data.glob("*damaged*")), (fault, done)
            listed += "run0" in done.said
    assert listed, "after the fault, the list is shown"
    assert rounds(data) == whole


def test_a_temporary_fault_during_a_run_loses_and_repeats_nothing(data, monkeypatch):
    store = Store.open()
    recorder = Recorder(store)
    for event in [started("r1"), *some_rounds("r1", 200)]:
        recorder.record(event)

    def damaged(*_):
        monkeypatch.undo()
        raise malformed()

    monkeypatch.setattr(store, "append", damaged)
    for event in [*some_rounds("r1", 200), e.Finished(run="r1", status="ok")]:
        recorder.record(event)
    assert recorder.said == ["the history was briefly unreadable; it is intact and still in use"]
    assert recorder.close() == ""
    assert not list(data.glob("*damaged*"))
    assert rounds(data) == {"run0": 300, "run1": 300, "run2": 300, "r1": 400}


def test_an_unreadable_disk_leaves_the_file_in_place_until_it_recovers(data, monkeypatch):
    store = Store.open()
    recorder = Recorder(store)
    recorder.record(started("r1"))
    file, held = data / FILE, []

    def damaged(*_):
        raise malformed()

    with monkeypatch.context() as patch:
        patch.setattr(store, "append", damaged)
        patch.setattr(recovery, "why_unread", lambda _: "Input/output error")
        for event in some_rounds("r1", 5):
            recorder.record(event)
            held.append(recorder.problem)
        assert "is currently unreadable: Input/output error" in recorder.problem, recorder.problem
    assert file.exists() and not list(data.glob("*damaged*"))
    recorder.record(e.Finished(run="r1", status="ok"))
    assert recorder.close() == "" and rounds(data)["r1"] == 5


def test_a_lock_kept_by_the_file_system_is_released_with_the_connection(data, monkeypatch):
    """The lock blocks every write until the connection closes, and SQLite would wait ten seconds for each
    write.
    """
    store = Store.open()
    recorder, stuck = Recorder(store), store.connection
    append = store.append

    def kept(*given):
        if store.connection is stuck:
            error = sqlite3.OperationalError("locking protocol")
            error.sqlite_errorcode = sqlite3.SQLITE_PROTOCOL
            raise error
        append(*given)

    monkeypatch.setattr(store, "append", kept)
    for event in run_of("r1", 5):
        recorder.record(event)
    assert recorder.said and not recorder.problem and recorder.close() == ""
    assert rounds(data)["r1"] == 5


def malformed():
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


@pytest.mark.parametrize(("kind", "at"), [("write", 2), ("write", 20), ("open", 4)])
def test_a_run_that_was_never_stored_is_kept_by_its_worker(data, tmp_path, faulty, kind, at):  # noqa: F811
    """System calls fail in every folder, so the run cannot be saved elsewhere either.

    The first failure occurs before the history is opened, or while a run left by an earlier lab is imported.
    """
    recording.write(folder(data) / f"left{DONE}", regular_run("left", 20))
    worker = [sys.executable, WORKER, "0.001", str(tmp_path / "truth"), "6"]
    done = faulty.play(
        ["run", "stft-small", "--budget", "quick"],
        (kind, at, FOREVER, {"write": errno.ENOSPC, "open": errno.EMFILE}[kind]),
        below=tmp_path,
        worker=worker,
        TUILAB_DATA=str(data),
        TMPDIR=str(tmp_path),
    )
    assert "the next start adds them to the history" in done.said, done
    (truth,) = tmp_path.glob("truth.*")
    assert here("history", "unattended").returncode == 0
    assert rounds(data)[truth.suffix[1:]] == truth.stat().st_size == 6


def test_a_failed_new_history_leaves_the_old_one_and_repeats_no_round(data, monkeypatch):
    store = Store.open()
    recorder = Recorder(store)
    for event in [started("r1"), *some_rounds("r1", 200)]:
        recorder.record(event)

    def damaged(*_):
        raise malformed()

    with monkeypatch.context() as patch:
        patch.setattr(store, "append", damaged)
        patch.setattr(recovery, "sound", lambda *_: False)
        patch.setattr(Runs, "at", lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("full")))
        recorder.record(some_rounds("r1", 1)[0])
    assert recorder.problem and (data / FILE).exists()
    recorder.record(e.Finished(run="r1", status="ok"))
    assert recorder.close() == "" and rounds(data)["r1"] == 201


def test_temporarily_unreadable_rounds_are_read_again(data, monkeypatch):
    whole = here("export", "run1", "--format", "csv").stdout
    execute, failed = connection.Connection.execute, []

    def once(self, sql, parameters=()):
        if sql.startswith("SELECT data FROM pieces") and not failed:
            failed.append(sql)
            raise malformed()
        return execute(self, sql, parameters)

    monkeypatch.setattr(connection.Connection, "execute", once)
    assert here("export", "run1", "--format", "csv").stdout == whole and failed


def test_a_read_error_ends_an_export_and_keeps_the_existing_file(data, tmp_path, faulty):  # noqa: F811
    """A read error is not damage, so the export must not silently lack the unreadable rounds."""
    out, words = tmp_path / "out.csv", ["export", "run1", "--format", "csv", "-o", str(tmp_path / "out.csv")]
    calls = faulty.play(words, ("read", FOREVER, 1, errno.EIO), below=data, TUILAB_DATA=str(data)).calls
    whole, ended = out.read_text(), Counter[bool]()
    for number in range(calls - 5, calls + 2):
        out.write_text("what was there")
        fault = ("read", number, FOREVER, errno.EIO)
        done = faulty.play(words, fault, below=data, TUILAB_DATA=str(data))
        assert (done.code, out.read_text()) in ((0, whole), (2, "what was there")), (number, done)
        ended[done.code == 0] += 1
    assert ended[True] and ended[False]


@pytest.mark.parametrize("damaged", [False, True])
def test_a_file_set_aside_that_becomes_unreadable_is_imported_later(data, faulty, damaged):  # noqa: F811
    """Unreadable data is not damage, so the file keeps the name under which its import is offered again."""
    whole, aside = {f"run{number}": 300 for number in range(3)}, data / "history-damaged-20260101-000000.db"
    if damaged:
        with contextlib.closing(sqlite3.connect(data / FILE)) as connection:
            connection.execute("DELETE FROM events WHERE run = 'run2' AND number = 0")
            connection.commit()
    kept, words = (data / FILE).read_bytes(), ["history", "check", "--repair", str(aside)]

    def repaired(number, times):
        for file in data.glob("history*"):
            file.unlink()
        aside.write_bytes(kept)
        return faulty.play(words, ("read", number, times, errno.EIO), below=aside, TUILAB_DATA=str(data))

    calls, ended = repaired(FOREVER, 1).calls, Counter[bool]()
    for number, times in itertools.product(range(calls * 2 // 3, calls + 1, 5), (1, FOREVER)):
        done = repaired(number, times)
        ended[done.code == 0] += 1
        offered = rounds_in(aside) if aside.exists() else {}
        now = rounds(data)
        there = {run: max(offered.get(run, 0), now.get(run, 0)) for run in whole}
        assert done.code in (0, 2) and there == whole, (number, times, done)
    assert ended[True] and ended[False], ended


async def test_damaged_parts_of_a_run_are_reported_in_every_output(data, tmp_path):
    store = Store.open()
    store.connection.execute("UPDATE pieces SET data = substr(data, 1, 100) WHERE run = 'run1'")
    client, going = HistoryClient(store), CancellableProgress("Writing")
    entries = [Entry(line=store.find("run1"))]
    said = await write_several(client, "csv", entries, {}, tmp_path, going)
    assert "but stored rounds 1 to " in said and "cannot be read" in said
    client.close()
    store.close()
    saved = ["history", "save", "run1", str(tmp_path / "run.jsonl")]
    for words in (saved, *(["export", "run1", "--format", name] for name in ("json", "json", "csv"))):
        done = here(*words)
        assert done.returncode == 0 and "run run1: stored rounds 1 to " in done.stderr, (words, done)
        assert "cannot be read" in done.stderr and "history check" in done.stderr
    assert here("export", "run2").stderr == ""


def test_files_left_by_a_worker_stay_until_they_can_be_read(data, monkeypatch):
    write(folder(data) / f"left{DONE}", regular_run("left", 100))
    event = recording._event

    def broken(file, number, line):
        if number == 30:
            raise OSError(errno.EIO, "Input/output error")
        return event(file, number, line)

    store = Store.open()
    with monkeypatch.context() as patch:
        patch.setattr(recording, "_event", broken)
        found = spool.collect_all(store, data)
        assert found.finished == () and "Input/output error" in found.problems[0]
    assert spool.collect_all(store, data).finished == ("left",)
    assert store.state("left").rounds == 100
    store.close()


# Set aside


def test_a_history_from_before_the_first_release_is_set_aside_and_imported_by_command(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    runs = [regular_run(f"run{number}", 30) for number in range(3)]
    older(tmp_path, runs)
    first = here("history")
    (aside,) = tmp_path.glob("history-older-*.db")
    assert first.returncode == 0 and f"it was renamed to {aside.name}" in first.stderr, first
    said = here("history").stderr
    assert f"`tuilab history check --repair {aside}` adds its runs" in said, said
    assert here("history", "check", "--repair", str(aside)).returncode == 0
    assert "was renamed" not in here("history").stderr and not aside.exists()
    with contextlib.closing(Store.open()) as store:
        for events in runs:
            assert list(store.events(events[0].run)) == events
            assert store.find(events[0].run).tags == ("kept",)


def test_files_set_aside_are_reported_until_they_are_imported(data):
    whole = (data / FILE).read_bytes()
    (data / FILE).write_bytes(b"no database" * 1_000)
    first = here("history")
    assert "it was renamed to history-damaged-" in first.stderr and first.returncode == 0
    (aside,) = data.glob("history-damaged-*.db")
    second = here("history")
    assert f"`tuilab history check --repair {aside}` adds all readable runs" in second.stderr
    aside.write_bytes(whole)
    assert (
        f"is readable again: `tuilab history check --repair {aside}` restores its runs"
        in here("history").stderr
    )
    done = here("history", "check", "--repair", str(aside))
    assert done.returncode == 0 and "3 runs with 900 rounds saved" in done.stderr
    assert rounds(data) == {f"run{number}": 300 for number in range(3)}
    assert here("history").stderr == "", "the damaged file is no longer reported"
    assert list(data.glob("history-recovered-*.db")), "the recovered file still exists"


def test_a_run_continued_elsewhere_is_joined_to_its_beginning(data, tmp_path):
    events = regular_run("run1", 450)
    store = Store.open(tmp_path / "new")
    later = [events[0], *events[301:]]
    store.replace(events[0], [e.encode(event).rstrip() for event in later])
    store.close()
    (tmp_path / "new" / FILE).rename(data / "new.db")
    os.rename(data / FILE, data / "history-damaged-20260101-000000.db")
    os.rename(data / "new.db", data / FILE)
    assert here("history", "check", "--repair", str(next(data.glob("*damaged*.db")))).returncode == 0
    store = Store.open()
    assert store.state("run1").rounds == 450 and store.find("run1").rounds == 450
    store.close()


def test_a_history_set_aside_by_another_program_is_reported_here(data):
    store = Store.open()
    recorder = Recorder(store)
    recorder.record(started("r1"))
    recovery.set_aside(data / FILE)
    Store.open().close()
    for event in [*some_rounds("r1", 5), e.Finished(run="r1", status="ok")]:
        recorder.record(event)
    assert "replaced by another program" in recorder.said[0] and "history-damaged-" in recorder.said[0]
    assert recorder.close() == "" and rounds(data) == {"r1": 5}


# Read-only


def reads(data, runs=3):
    """Assert that each command that only reads returns the runs, and prints one line of warning."""
    listed = here("history")
    assert listed.returncode == 0 and len(listed.stdout.splitlines()) == runs, listed
    assert len(listed.stderr.splitlines()) == 1 and "is read-only" in listed.stderr, listed.stderr
    for name in FORMATS:
        done = here("export", "run1", "--format", name)
        assert done.returncode == 0 and len(done.stdout) > 500, (name, done)
    assert here("history", "save", "run1", str(data.parent.parent / "run1.jsonl")).returncode == 0
    assert here("history", "compare", "run0", "run1").returncode == 0
    assert "1 machine" in here("hosts").stdout
    checked = here("history", "check")
    assert checked.returncode == 0 and "no problems" in checked.stderr, checked
    assert here("history", "programs").returncode == 0
    tagged = here("history", "tag", "run1", "x")
    assert tagged.returncode == 2 and "nothing was changed" in tagged.stderr, tagged


def test_a_history_on_a_full_disk_is_read_and_pruned(full):
    reads(full)
    before = (full / FILE).stat().st_size
    done = here("history", "prune", "--days", "0")
    assert done.returncode == 0 and len(done.stdout.split()) == 3, done
    assert here("history").stdout == "" and here("history", "undelete", "last").returncode == 0

    done = here("history", "prune", "--days", "0", "--for-good")
    assert done.returncode == 0 and len(done.stdout.split()) == 3, done
    assert (full / FILE).stat().st_size < before
    store = Store.open()
    assert store.file == full / FILE and not store.messages, "the disk has space again"
    store.close()


def test_an_interrupted_prune_in_place_leaves_a_whole_copy(full, monkeypatch):
    lines = []
    with pytest.raises(RuntimeError), recovery.cramped(full / FILE) as (connection, copy):
        lines.append(copy)
        connection.execute("DELETE FROM runs WHERE run = 'run1'")
        monkeypatch.setattr(recovery, "sound", lambda *_, **__: False)
        raise RuntimeError
    monkeypatch.undo()
    assert rounds(lines[0].parent) == {f"run{number}": 300 for number in range(3)}


def test_a_prune_in_place_that_damages_the_history_leaves_a_whole_copy(data):
    with recovery.cramped(data / FILE) as (connection, copy):
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("CREATE TABLE spoilt (never CHECK (never IS NULL))")
        connection.execute("INSERT INTO spoilt VALUES (1)")
        connection.execute("PRAGMA ignore_check_constraints = OFF")
    assert not recovery.sound(data / FILE)
    assert rounds(copy.parent) == {f"run{number}": 300 for number in range(3)}


def test_a_read_only_history_is_read(tmp_path, monkeypatch):
    with disk(tmp_path / "disk", "4m") as place:
        monkeypatch.setenv("TUILAB_DATA", str(place / "data"))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        filled(place / "data", 3)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        reads(place / "data")


@pytest.mark.parametrize("readonly", [False, True])
def test_the_last_writes_are_read_too(tmp_path, monkeypatch, readonly):
    with disk(tmp_path / "disk", "4m") as place:
        monkeypatch.setenv("TUILAB_DATA", str(place / "data"))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        store = Store.open()
        for number in range(3):
            Recorder(store)
            events = regular_run(f"run{number}", 30)
            store.replace(events[0], [e.encode(event).rstrip() for event in events])
            store.conclude(f"run{number}", "ok", "")
        wal = (place / "data" / f"{FILE}-wal").read_bytes()
        main = (place / "data" / FILE).read_bytes()
        store.close()
        (place / "data" / FILE).write_bytes(main)
        (place / "data" / f"{FILE}-wal").write_bytes(wal)
        fill(place)
        if readonly:
            subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        reads(place / "data")


def test_runs_measured_meanwhile_are_found_next_to_it(full):
    store = Store.open()
    assert store.file is not None and store.file.parent != full
    events = run_of("later", 5)
    store.replace(events[0], [e.encode(event).rstrip() for event in events])
    store.conclude("later", "ok", "")
    again = store.again()
    assert {line.run for line in again.runs()} == {"later", "run0", "run1", "run2"}
    again.close()
    store.close()
    assert here("export", "last", "--format", "csv").stdout.splitlines()[1].startswith("later,")
    (full.parent / "filler").unlink()
    assert len(here("history").stdout.splitlines()) == 4
    assert set(rounds(full)) == {"later", "run0", "run1", "run2"}


# Histories that are created on a disk that fills up


def test_a_disk_that_fills_while_the_history_is_created_leaves_no_upgrade(tmp_path, faulty):  # noqa: F811
    place = tmp_path / "data"
    place.mkdir()
    for kind in ("write", "sync"):
        (place / FILE).unlink(missing_ok=True)
        counted = (kind, FOREVER, 1, errno.ENOSPC)
        calls = faulty.play(["history"], counted, below=place, TUILAB_DATA=str(place)).calls
        assert calls
        for number in range(1, calls + 1):
            for file in place.iterdir():
                file.unlink() if file.is_file() else None
            fault = (kind, number, FOREVER, errno.ENOSPC)
            done = faulty.play(["history"], fault, below=place, TUILAB_DATA=str(place), TMPDIR=str(tmp_path))
            assert done.code in (0, 2) and "Traceback" not in done.said, (fault, done)
            again = faulty.play(["history"], below=place, TUILAB_DATA=str(place), TMPDIR=str(tmp_path))
            assert again.code == 0 and again.said == "no runs yet\n", (fault, done, again)
            left = sorted(file.name for file in place.iterdir() if not file.is_dir())
            assert left == [FILE], (fault, left)


# Clocks


def test_last_is_the_run_made_last_regardless_of_the_clock(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    store = Store.open()
    for run, at in (("ahead", "2036-01-01"), ("today", "2026-01-01"), ("behind", "1963-01-01")):
        events = run_of(run, 3, at=f"{at}T00:00:00Z")
        store.replace(events[0], [e.encode(event).rstrip() for event in events])
        store.conclude(run, "ok", "")
        assert store.last().run == run
    events = run_of("foreign", 3, at="2030-01-01T00:00:00Z")
    store.close()
    write(tmp_path / "x.jsonl", events)
    assert here("history", "import", str(tmp_path / "x.jsonl")).returncode == 0
    assert here("export", "last", "--format", "csv").stdout.splitlines()[1].startswith("behind,")
    for run in ("ahead", "today", "behind"):
        here("history", "delete", run)
    assert here("export", "last", "--format", "csv").stdout.splitlines()[1].startswith("foreign,")


def test_a_machine_measured_with_a_fast_clock_is_measured_again(tmp_path):
    from tuilab.history.machine_summaries import latest
    from tuilab.lab.machines import sum_up

    store = Store.open(tmp_path)
    for run, year in (("ahead", time.gmtime().tm_year + 10), ("now", 2026)):
        events = run_of(run, 3, at=f"{year}-01-01T00:00:00Z")
        store.replace(events[0], [e.encode(event).rstrip() for event in events])
        store.conclude(run, "ok", "")
        assert sum_up(store) == ""
    assert [found.run for found in latest(store)] == ["now"]
    store.close()


def test_the_check_of_a_history_ends_in_time_or_gives_no_result(tmp_path):
    store = Store.open(tmp_path)
    keep(store)
    with store.connection as connection:
        connection.executemany(
            "INSERT INTO events (run, number, event) VALUES ('r1', ?, '{}')",
            ((i,) for i in range(100, 20_000)),
        )
    store.close()
    assert recovery.sound(tmp_path / FILE) is True
    assert recovery.sound(tmp_path / FILE, seconds=-1.0) is None


def test_copying_a_locked_history_ends(data, tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "COPY_BUSY_S", 0.1)
    file = tmp_path / "source.db"
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN EXCLUSIVE")
        source, target = sqlite3.connect(file, timeout=0), sqlite3.connect(":memory:")
        with contextlib.closing(source), contextlib.closing(target):
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                connection.copy(source, target)
            other.execute("ROLLBACK")
            connection.copy(source, target)
            assert target.execute("SELECT name FROM sqlite_master").fetchall() == [("t",)]


def test_two_programs_do_not_collect_the_same_files(data):
    place = folder(data)
    write(place / f"left{DONE}", regular_run("left", 6))
    with contextlib.closing(Store.open(data)) as store:
        with (place / spool.LOCK).open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert spool.collect(store, place).finished == ()
        assert spool.collect(store, place).finished == ("left",)
