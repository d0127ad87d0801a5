"""Measurements survive all failures of the store."""

import contextlib
import hashlib
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from tests.made import GRAPH, folded, profile, regular_run, rounds, run_of, started
from tuilab import paths
from tuilab.history import schema, spool
from tuilab.history.imports import BROKEN_OFF, import_left
from tuilab.history.recorder import Recorder
from tuilab.history.recording import read, write
from tuilab.history.store import BESIDE, FILE, Store, other_folders
from tuilab.lab.history import History
from tuilab.model import events as e
from tuilab.model.errors import InputError
from tuilab.model.profile import Lane, Span
from tuilab.model.scenario import Scenario
from tuilab.spool import DONE, folder

ROOT = Path(__file__).resolve().parents[2]


def keep(store: Store, run: str = "r1", count: int = 3, **about: str) -> Recorder:
    recorder = Recorder(store)
    for event in run_of(run, count, **about):
        recorder.record(event)
    recorder.conclude(run, "CPU graph takes 1 ms.")
    return recorder


def test_a_stored_run_is_listed_and_reads_back_equal(store):
    keep(store)
    (line,) = store.runs()
    assert (line.preset, line.status, line.rounds, line.answer) == (
        "stft-small",
        "ok",
        3,
        "CPU graph takes 1 ms.",
    )
    state = store.state("r1")
    assert list(state.arms[GRAPH.id].cells[0].samples) == [0.001] * 3


def test_a_result_is_read_back_for_the_data_that_it_was_computed_from(store):
    keep(store)
    store.keep_result("r1", "claims 1", b"result")
    assert [store.result("r1", of) for of in ("claims 1", "claims 2")] == [b"result", None]


def test_each_round_is_readable_as_soon_as_it_is_recorded(store, tmp_path):
    recorder = Recorder(store)
    other = Store.open(tmp_path)
    recorder.record(started())
    for index, event in enumerate(rounds("r1", 5)):
        recorder.record(event)
        assert other.state("r1").rounds == index + 1
    assert other.runs()[0].status is None
    other.close()


def test_a_run_stopped_before_its_first_round_is_not_kept(store):
    recorder = Recorder(store)
    for event in (
        started("slid"),
        e.Log(text="warming", run="slid"),
        e.Finished(run="slid", status="cancelled"),
    ):
        recorder.record(event)
    assert recorder.has_all("slid") and store.runs() == []
    # A failed run is kept, because the user will look for the reason.
    for event in (started("failed"), e.Finished(run="failed", status="failed", message="why")):
        recorder.record(event)
    assert [line.run for line in store.runs()] == ["failed"]


def test_a_run_without_figures_has_failed_however_its_worker_ended(store):
    recorder = Recorder(store)
    fact = e.Fact(run="seen", name="reaches", value=2, text="It reaches 2 GB.")
    for event in (started("none"), e.Finished(run="none", status="ok"),
                  started("seen"), fact, e.Finished(run="seen", status="ok")):  # fmt: skip
        recorder.record(event)
    assert {line.run: line.status for line in store.runs()} == {"none": "failed", "seen": "ok"}


def profiled(run: str, step_s: float = 1e-3) -> e.Profiled:
    spans = (Span(0, 0.0, 1e-4, "RFFT"),)
    found = profile(step_s=step_s, lanes=(Lane("thread", "CPU"),), spans=spans)
    return e.Profiled(run=run, arm=GRAPH.id, profile=found)


def test_a_profile_that_comes_after_the_end_is_kept_with_its_run(store, tmp_path):
    recorder = keep(store)
    for step_s in (1e-3, 2e-3):
        recorder.record(profiled("r1", step_s))
    recorder.record(profiled("unknown"))
    assert recorder.has_all("r1") and not recorder.waiting and not recorder.problem
    (line,) = store.runs()
    assert (line.status, line.rounds) == ("ok", 3)
    state = store.state("r1")
    assert state.status == "ok" and state.arms[GRAPH.id].profile == profiled("r1", 2e-3).profile
    write(tmp_path / "run.jsonl", store.events("r1"))
    replayed = folded(*read(tmp_path / "run.jsonl"))
    assert replayed.arms[GRAPH.id].profile == state.arms[GRAPH.id].profile


def test_a_profile_waits_for_a_store_that_is_locked(store, tmp_path):
    recorder = keep(store)
    store.connection.execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    recorder.record(profiled("r1"))
    assert recorder.waiting == 1 and recorder.problem
    other.execute("ROLLBACK")
    other.close()
    assert recorder.flush() and store.state("r1").arms[GRAPH.id].profile is not None


def test_a_continued_run_keeps_its_earlier_rounds(store):
    recorder = Recorder(store)
    for event in (started(), *rounds("r1", 4)):
        recorder.record(event)
    recorder = Recorder(store)
    recorder.continue_run("r1")
    for event in (started(worker=1), *rounds("r1", 3), e.Finished(run="r1", status="ok")):
        recorder.record(event)
    assert recorder.has_all("r1") and not recorder.problem
    found = list(store.events("r1"))
    assert [event.worker for event in found if isinstance(event, e.RunStarted)] == [0, 1]
    assert sum(isinstance(event, e.Round) for event in found) == 7


def test_a_rewritten_round_counts_in_the_measured_seconds(store):
    events = regular_run("r1", 300)
    lines = [e.encode(event).rstrip() for event in events]
    lines[5] += b" "  # packing would remove the space, so this round is not packed
    store.replace(events[0], lines)
    assert store.state("r1").timed_s == pytest.approx(folded(*events).timed_s)


def test_without_full_text_search_in_sqlite_the_history_still_searches(tmp_path, monkeypatch):
    missing = schema._FOUND[0].replace("fts5(", "fts5_of_no_sqlite(")
    monkeypatch.setattr(schema, "_FOUND", (missing, schema._FOUND[1]))
    with contextlib.closing(Store.open(tmp_path / "plain")) as plain:
        assert not plain.searched and not plain.messages
        keep(plain)
        assert [entry.run for entry in History(plain).entries("stft-sma")] == ["r1"]


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_workers_file_is_deleted_only_after_the_history_has_its_rounds(store, tmp_path, kept):
    place = folder(tmp_path)
    write(place / "r1.jsonl", run_of("r1", 1))
    (place / "r1.jsonl").rename(spool.file_of(place, "r1"))
    if kept:
        keep(store, count=kept)
    spool.forget(place, "r1", store)
    assert store.line("r1").rounds == max(kept, 1) and not spool.file_of(place, "r1").exists()


def test_kill_9_loses_no_recorded_round(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path; from tests import made\n"
        "from tuilab.history.recorder import Recorder; from tuilab.history.store import Store\n"
        "recorder = Recorder(Store.open(Path(sys.argv[1])))\n"
        "for event in made.run_of('r1', 40)[:-1]: recorder.record(event)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, timeout=60)
    assert done.returncode == -signal.SIGKILL
    store = Store.open(tmp_path)
    assert store.state("r1").rounds == 40
    store.close()


def test_a_locked_store_delays_but_loses_nothing(store, tmp_path):
    recorder = Recorder(store)
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    for event in [started(), *rounds("r1", 3)]:
        recorder.record(event)
    assert recorder.waiting == 4
    assert "locked" in recorder.problem
    other.execute("ROLLBACK")
    assert recorder.flush()
    assert recorder.problem == ""
    assert store.state("r1").rounds == 3


def test_a_full_disk_delays_but_loses_nothing(store):
    recorder = Recorder(store)
    recorder.record(started())
    (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
    store.connection.execute(f"PRAGMA max_page_count = {pages}")
    for event in rounds("r1", 400):
        recorder.record(event)
    assert "full" in recorder.problem
    store.connection.execute("PRAGMA max_page_count = 1000000")
    recorder.record(e.Finished(run="r1", status="ok"))
    assert recorder.problem == ""
    assert store.state("r1").rounds == 400


def test_a_damaged_file_is_set_aside_and_nothing_is_deleted(tmp_path):
    (tmp_path / FILE).write_bytes(b"this is no database at all" * 100)
    store = Store.open(tmp_path)
    keep(store)
    assert "damaged" in store.messages[0]
    assert store.runs()
    store.close()
    (aside,) = tmp_path.glob("history-damaged-*")
    assert aside.read_bytes().startswith(b"this is no database")


def test_other_tables_get_another_version(tmp_path):
    """A tuilab of the older version would otherwise write to tables that it does not know."""
    Store.open(tmp_path).close()
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        # The tables of the full-text search depend on the version of SQLite.
        own = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'found%' ORDER BY name"
        tables = connection.execute(own).fetchall()
    plain = "\n".join(re.sub(r"--.*", "", sql) for (sql,) in tables)
    assert (version, hashlib.sha256(" ".join(plain.split()).encode()).hexdigest()[:12]) == (6, "7227f4ed5fff")


def test_a_store_of_a_later_tuilab_is_not_changed(tmp_path):
    Store.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    before = (tmp_path / FILE).read_bytes()
    store = Store.open(tmp_path)
    assert store.file == tmp_path / BESIDE / FILE and "a newer tuilab" in store.messages[0]
    keep(store)
    assert store.runs() and (tmp_path / FILE).read_bytes() == before
    store.close()
    (again := Store.open(tmp_path)).close()
    assert again.file == store.file


def test_runs_kept_next_to_a_store_of_a_later_tuilab_are_restored(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    Store.open().close()
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    for store in (Store.open(), Store.open(to_read=True)):
        assert str(tmp_path / BESIDE) in store.messages[0] and not store.runs()
        store.close()
    store = Store.open()
    keep(store)
    store.conclude("r1", "ok", "")
    store.close()
    write(folder(tmp_path / BESIDE) / f"left{DONE}", regular_run("left", 20))
    connection.execute(f"PRAGMA user_version = {schema.VERSION}")
    connection.close()
    store = Store.open()
    assert store.file == tmp_path / FILE and not store.messages and store.find("r1").rounds == 3
    assert spool.collect_all(store, tmp_path).finished == ("left",)
    store.close()


@pytest.mark.parametrize(("there", "elsewhere"), [(5, 3), (3, 5)])
def test_a_run_taken_back_from_elsewhere_never_loses_rounds(tmp_path, monkeypatch, there, elsewhere):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    for place, count in ((tmp_path, there), (tmp_path / BESIDE, elsewhere)):
        with contextlib.closing(Store.open(place)) as store:
            keep(store, count=count)
            store.conclude("r1", "ok", "")
    with contextlib.closing(Store.open()) as store:
        assert store.find("r1").rounds == 5


@pytest.mark.skipif(os.getuid() == 0, reason="root can write everywhere")
def test_with_a_read_only_home_a_user_has_runs_in_memory(tmp_path):
    tmp_path.chmod(0o500)
    assert Store.open(tmp_path / "data").file is None


def test_without_a_writable_folder_runs_are_kept_in_memory(tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = Store.open(tmp_path / "file" / "data")
    assert store.file is None
    assert "cannot be written" in store.messages[0]
    keep(store)
    assert store.runs()[0].rounds == 3


def test_files_are_private(store, tmp_path):
    keep(store)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in tmp_path.iterdir()} == {0o600}


def test_search_looks_in_every_text_and_in_tags(store):
    keep(store, "r1", preset="stft-small")
    keep(store, "r2", preset="matmul_dtypes")
    store.tag("r2", "before the driver")
    store.note("r1", "100% sure")
    wanted = {
        "small": ["r1"], "driver": ["r2"], "100%": ["r1"], "zzz": [], "l_d": ["r2"], "small stft": ["r1"],
        "small driver": [],
    }  # fmt: skip
    assert {word: [r.run for r in store.runs(word)] for word in wanted} == wanted
    store.tag("r2", "before the driver", on=False)
    assert not store.runs("driver")


def test_a_deletion_can_be_undone_until_the_purge(store):
    keep(store)
    store.soft_delete(["r1"], asked=True)
    assert not store.runs()
    store.undelete("r1")
    assert store.runs()
    store.soft_delete(["r1"], asked=True)
    assert store.purge(days=1) == 0
    assert store.purge(days=-1) == 1
    store.undelete("r1")
    assert not store.runs()
    assert store.connection.execute("SELECT count(*) FROM events").fetchone() == (0,)


def test_the_space_of_purged_runs_is_freed(store, tmp_path, monkeypatch):
    monkeypatch.setattr("tuilab.history.runs.COMPACT_BYTES", 2**16)
    log = [e.encode(e.Log(text=str(n) * 9_000, level="info", run="r1")).rstrip() for n in range(40)]
    store.append("r1", 0, log, started())
    keep(store, "r2")
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = (tmp_path / FILE).stat().st_size
    store.soft_delete(["r1"], asked=True)
    store.purge(days=-1)
    store.compact()
    assert (tmp_path / FILE).stat().st_size < before / 2
    assert store.state("r2").rounds == 3
    store.compact()


def test_a_prune_by_days_counts_back_from_now(store):
    for run, ago in (("old", 31), ("new", 29)):
        keep(store, run, at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago * 86_400)))
    assert store.prune_candidates(days=30).runs == ("old",)
    assert set(store.prune_candidates(days=28).runs) == {"old", "new"}


def test_after_a_failure_the_next_try_waits_ten_times_its_duration(store, monkeypatch):
    """If the store retried at once, a slow failure would delay every round."""
    now, tries = [100.0], []
    recorder = Recorder(store, clock=lambda: now[0])
    first, *further = run_of("r1", 30)
    recorder.record(first)

    def refuse() -> None:
        tries.append(now[0])
        now[0] += 2.0
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(recorder, "_write_all", refuse)
    for event in further[:25]:
        recorder.record(event)
        now[0] += 1.0
    assert tries == [100.0, 122.0] and "(disk I/O error)" in recorder.problem
    monkeypatch.undo()
    now[0] = 145.0
    recorder.record(further[25])
    assert recorder.problem == "" and store.state("r1").rounds == 26


@pytest.mark.parametrize("written", [0, 8])
def test_runs_that_a_store_refuses_become_recordings_next_to_it(tmp_path, monkeypatch, written):
    """The recording includes the events that the store already has, and contains each event only once."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    recorder, events = Recorder(Store.open(tmp_path / "data")), run_of("r1", 20)
    for event in events[:written]:
        recorder.record(event)

    def refuse() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(recorder, "_write_all", refuse)
    for event in events[written:]:
        recorder.record(event)
    assert "the missing data is saved in" in recorder.close()
    [file] = tmp_path.glob("tuilab-runs-*.jsonl")
    assert [event for event in read(file) if not isinstance(event, e.Hello)] == events


def test_pruning_spares_pinned_and_running_and_recent_runs(store):
    for number in range(4):
        keep(store, f"r{number}", at=f"2026-01-0{number + 1}T00:00:00Z")
    keep(store, "young", at="2999-01-01T00:00:00Z")
    store.pin("r0", "baseline")
    going = Recorder(store)
    for event in (started("running", at="2026-01-01T00:00:00Z"), *rounds("running", 1)):
        going.record(event)
    assert len(store.soft_delete(store.prune_candidates(days=30).runs)) == 3
    assert {r.run for r in store.runs()} == {"r0", "young", "running"}
    assert len(store.soft_delete(store.prune_candidates(size=0).runs)) == 1
    assert {r.run for r in store.runs()} == {"r0", "running"}


def test_an_id_is_found_by_its_beginning(store):
    keep(store, "abc1")
    keep(store, "abd2")
    assert store.find("abc").run == "abc1"
    for wrong in ("ab", "x", "%"):
        with pytest.raises(KeyError):
            store.find(wrong)


def test_two_programs_can_write_at_once(store, tmp_path):
    second = Store.open(tmp_path)
    one, two = Recorder(store), Recorder(second)
    one.record(started("a"))
    two.record(started("b"))
    for first, other in zip(rounds("a", 50), rounds("b", 50), strict=True):
        one.record(first)
        two.record(other)
    assert one.flush() and two.flush()
    assert store.state("a").rounds == second.state("b").rounds == 50
    second.close()


def test_an_unreadable_stored_line_is_skipped_and_reported(store):
    keep(store)
    store.connection.execute("UPDATE events SET event = '{' WHERE number = 4")
    state = store.state("r1")
    assert state.rounds == 3 and state.status is None
    assert "cannot be read" in state.log[0].text


def test_a_recording_read_back_gives_the_same_state(store, tmp_path):
    keep(store)
    write(tmp_path / "run.jsonl", store.events("r1"))
    assert folded(*read(tmp_path / "run.jsonl")) == store.state("r1")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\xff\xfe",
        b'{"type":"hello","protocol":99,"tuilab":"x","pid":1}',
        b'{"type":"log","text":"x"}',
    ],
)
def test_a_file_that_is_not_a_recording_is_refused_by_name(tmp_path, data):
    file = tmp_path / "bad.jsonl"
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"bad\.jsonl"):
        list(read(file))


def test_a_hostile_recording_is_cleaned_as_it_is_read(tmp_path):
    file = tmp_path / "run.jsonl"
    hostile = started(preset="\x1b]52;c;aGk=\x07[@click=x]")
    write(
        file,
        [msgspec.structs.replace(hostile, scenario=Scenario("st\x9b31mft", {"\x1b[2Jsamples": "\u202e1"}))],
    )
    _, event = read(file)
    assert (event.preset, event.scenario) == ("[@click=x]", Scenario("stft", {"samples": "1"}))


def test_a_named_folder_that_existed_keeps_its_mode(tmp_path, monkeypatch):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setenv("TUILAB_DATA", str(folder))
    store = Store.open()
    assert store.file == folder / FILE
    store.close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "new"))
    Store.open().close()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_runs_of_a_killed_lab_are_restored_from_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "file" / "data"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "file").write_text("in the way")
    first = Store.open()
    assert first.messages and first.file is not None
    recorder = Recorder(first)
    for event in [started(), *rounds("r1", 5)]:
        recorder.record(event)
    first.close()
    (tmp_path / "file").unlink()
    second = Store.open()
    assert second.state("r1").rounds == 5
    second.close()


def test_a_history_removed_during_a_run_is_created_again_with_the_whole_run(tmp_path):
    import shutil

    store = Store.open(tmp_path / "data")
    recorder = Recorder(store)
    for event in [started(), *rounds("r1", 5)]:
        recorder.record(event)
    shutil.rmtree(tmp_path / "data")
    for event in [*rounds("r1", 3), e.Finished(run="r1", status="ok")]:
        recorder.record(event)
    assert "removed" in recorder.said[0]
    recorder.close()
    again = Store.open(tmp_path / "data")
    assert again.state("r1").rounds == 8
    again.close()


def test_only_interrupted_runs_are_reported_as_interrupted(store, tmp_path):
    whole, torn = run_of("whole", 3), run_of("torn", 3)
    assert isinstance(whole[-1], e.Finished)
    for name, events in (("whole", whole), ("torn", torn[:-1])):
        write(tmp_path / f"{name}.jsonl", events)
        assert import_left(store, tmp_path / f"{name}.jsonl") == [name]
    assert {line.run: line.status for line in store.runs()} == {"whole": whole[-1].status, "torn": "failed"}
    assert [store.state(run).message for run in ("whole", "torn")] == [whole[-1].message, BROKEN_OFF]


def test_a_run_whose_lab_started_no_further_process_is_interrupted(store, tmp_path):
    start, *parts = run_of("cut", 3)
    assert isinstance(start, e.RunStarted)
    several = msgspec.structs.replace(start, budget=msgspec.structs.replace(start.budget, workers=3))
    write(tmp_path / "cut.jsonl", [several, *parts[:-1], e.Finished(run="cut", status="ok")])
    assert import_left(store, tmp_path / "cut.jsonl") == ["cut"]
    assert (store.find("cut").status, store.state("cut").message) == ("failed", BROKEN_OFF)


def test_rounds_of_a_later_worker_replace_only_its_own_part_of_the_run(store, tmp_path):
    own = [[started(worker=number), *rounds("r1", 3)] for number in range(3)]
    events = [event for part in own for event in part]
    store.replace(events[0], [e.encode(event).rstrip() for event in events])
    for count, begun, kept in ((2, [0, 1, 2], 9), (7, [0, 1], 10)):
        left = [started(worker=1), *rounds("r1", count), e.Finished(run="r1", status="ok")]
        write(tmp_path / "left.jsonl", left)
        import_left(store, tmp_path / "left.jsonl")
        found = list(store.events("r1"))
        assert [event.worker for event in found if isinstance(event, e.RunStarted)] == begun
        assert sum(isinstance(event, e.Round) for event in found) == kept


def test_the_store_of_another_folder_ignores_runs_waiting_in_the_temporary_one(tmp_path, monkeypatch):
    """Runs in the temporary folder belong to the user's default data folder."""
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert paths.fallback_folder() in other_folders(tmp_path / "data")
    assert paths.fallback_folder() not in other_folders(tmp_path / "other")
