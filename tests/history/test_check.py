"""A damaged history is reported run by run, and its readable parts are saved."""

import contextlib
import sqlite3

import msgspec
import pytest

from tests.history.test_store import keep
from tests.made import regular_run
from tuilab.history import programs, recovery
from tuilab.history.check import check, repair
from tuilab.history.store import FILE, Store
from tuilab.lab.history import History
from tuilab.model import events as e
from tuilab.model.errors import InputError
from tuilab.model.program import Page

PAGE = Page(command=("train.py",), at="2026-01-05T10:00:00Z", lasted_s=3.0)


def filled(folder, runs=6):
    store = Store.open(folder)
    for number in range(runs):
        events = regular_run(f"run{number}", 300)
        store.replace(events[0], [e.encode(event).rstrip() for event in events])
        store.conclude(f"run{number}", "ok", "CPU graph is fastest.")
    store.tag("run1", "nightly")
    store.note("run2", "a note")
    store.close()
    return folder / FILE


def rounds(folder):
    store = Store.open(folder)
    try:
        return {line.run: store.state(line.run).rounds for line in store.runs()}
    finally:
        store.close()


def test_a_sound_history_is_reported_as_sound(tmp_path):
    report = check(filled(tmp_path))
    assert (report.runs, report.rounds, report.findings) == (6, 1_800, ())


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE pieces SET data = substr(data, 1, 900) WHERE run = 'run3'", "300 rounds from event"),
        ("UPDATE events SET event = '{' WHERE run = 'run3' AND number = 301", "event 301"),
        ("UPDATE runs SET rounds = 7 WHERE run = 'run3'", "300 rounds, but its list entry records 7"),
        ("UPDATE runs SET scenario = x'ff' WHERE run = 'run3'", "scenario"),
        ("DELETE FROM events WHERE run = 'run3' AND number = 0", "beginning"),
    ],
)
def test_each_damage_is_named_with_its_run(tmp_path, damage, words):
    file = filled(tmp_path)
    connection = sqlite3.connect(file)
    connection.execute(damage)
    connection.commit()
    connection.close()
    report = check(file)
    assert {finding.run for finding in report.findings} == {"run3"}
    assert any(words in finding.what for finding in report.findings)


@pytest.mark.parametrize(("table", "last_child"), [("runs", True), ("sqlite_autoindex_runs_1", False)])
def test_an_unreadable_page_affects_only_the_runs_on_it(tmp_path, table, last_child):
    file = filled(tmp_path, runs=12)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (page,) = connection.execute(query, (table,)).fetchone()
    data = bytearray(file.read_bytes())
    if last_child:  # the root page has the number of its last child at this offset
        page = int.from_bytes(data[(page - 1) * size + 8 : (page - 1) * size + 12], "big")
    data[(page - 1) * size] = 0
    file.write_bytes(data)
    report = check(file)
    assert (report.runs, report.rounds) == (12, 3_600)
    wrong = {finding.run: finding.what for finding in report.findings if finding.run}
    assert set(wrong.values()) == ({"its entry in the list of runs is missing"} if last_child else set())
    assert len(wrong) < 6 and any(not finding.run for finding in report.findings)
    repair(file)
    assert rounds(tmp_path) == {f"run{i}": 300 for i in range(12)}
    with contextlib.closing(Store.open(tmp_path)) as store:
        answers = {line.run: line.answer for line in store.runs()}
    assert {run for run, answer in answers.items() if answer != "CPU graph is fastest."} == set(wrong)


def test_a_hostile_run_id_is_reported_in_one_short_line(tmp_path):
    file = filled(tmp_path, runs=3)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(
            "UPDATE events SET run = ? WHERE run = 'run0' AND number = 0", ("\x1b[31m" + "x\n" * 300,)
        )
        connection.commit()
    names = {finding.run for finding in check(file).findings} - {"", "run0", "run1", "run2"}
    assert len(names) == 1 and all(len(name) <= 100 and name.isprintable() for name in names)


def test_a_repair_keeps_runs_tags_and_notes_and_the_damaged_file(tmp_path):
    file = filled(tmp_path)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE pieces SET data = substr(data, 1, 900) WHERE run = 'run3'")
    connection.execute("DELETE FROM events WHERE run = 'run4' AND number = 0")
    connection.commit()
    connection.close()
    with contextlib.closing(Store.open(tmp_path)) as store:
        programs.keep(store, "w1", PAGE)
    done = repair(file)
    assert done.aside is not None and done.aside.exists()
    assert recovery.notices(file) == []  # no advice to recover what was just recovered
    assert {finding.run for finding in done.lost} == {"run3"}
    assert check(file).findings == ()
    assert rounds(tmp_path) == {f"run{i}": 0 if i == 3 else 300 for i in range(6)}
    store = Store.open(tmp_path)
    assert programs.find(store, "w1") == PAGE
    assert store.find("run1").tags == ("nightly",) and store.find("run2").note == "a note"
    assert store.state("run4").arms.keys() == store.state("run5").arms.keys()
    # The lost start of the run is reconstructed from the names in its rounds.
    begun = {run: e.decode(next(iter(store.raw(run)))[1]) for run in ("run4", "run5")}
    assert {arm.id for arm in begun["run4"].arms} == {arm.id for arm in begun["run5"].arms} != set()
    store.close()


def test_a_file_without_its_header_is_still_read(tmp_path):
    file = filled(tmp_path)
    with file.open("r+b") as stream:
        stream.write(b"\0" * 100)
    done = repair(file)
    assert done.runs == 6 and set(rounds(tmp_path).values()) == {300}


def test_findings_in_a_file_that_cannot_be_read_now_are_not_reported_as_damage(store, monkeypatch):
    keep(store)
    history = History(store)
    monkeypatch.setattr("tuilab.lab.history.why_unread", lambda file: "Input/output error")
    assert history.check()[0].findings == ()
    store.connection.execute("UPDATE runs SET rounds = 2")
    with pytest.raises(InputError) as unread:
        history.check()
    expected = "got 'Input/output error'; expected a readable history"
    assert str(unread.value) == f"{store.file}: {expected}"


def test_a_check_without_repair_changes_nothing(store):
    keep(store)
    store.connection.execute("UPDATE runs SET rounds = 2")
    history = History(store)
    report, repaired = history.check()
    assert report.findings and repaired is None and history.find("r1").rounds == 2


@pytest.mark.parametrize("again", [True, False])
def test_a_history_is_repaired_only_if_a_second_read_finds_the_damage_too(store, again, monkeypatch):
    keep(store)
    store.connection.execute("UPDATE runs SET rounds = 2")
    history, reads = History(store), []

    def read(file):
        reads.append(check(file))
        return reads[-1] if again or len(reads) == 1 else msgspec.structs.replace(reads[-1], findings=())

    monkeypatch.setattr("tuilab.lab.history.verify", read)
    report, repaired = history.check(repair=True)
    assert len(reads) == 2 and bool(report.findings) is again
    assert (repaired and repaired.rounds) == (3 if again else None)
    assert history.find("r1").rounds == (3 if again else 2)


def test_a_repair_adds_only_the_rounds_that_a_run_of_this_history_lacks(tmp_path):
    events = regular_run("r1", 60)
    note = e.Log(run="r1", text="a note")
    halves = {"old": [events[0], note, *events[1:41]], "new": [events[0], *events[31:]]}
    for name, part in halves.items():
        with contextlib.closing(Store.open(tmp_path / name)) as store:
            store.replace(events[0], [e.encode(event).rstrip() for event in part])
    done = repair(tmp_path / "old" / FILE, tmp_path / "new" / FILE)
    with contextlib.closing(Store.open(tmp_path / "new")) as store:
        assert list(store.events("r1")) == events and done.rounds == 30
        again = repair(tmp_path / "old" / FILE, tmp_path / "new" / FILE)
        assert list(store.events("r1")) == events and (again.runs, again.rounds) == (0, 0)
