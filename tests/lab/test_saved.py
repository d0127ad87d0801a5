import sqlite3
from types import SimpleNamespace

import pytest

from tests.made import run_of, started
from tuilab.history.store import Store
from tuilab.lab.changes import Worker
from tuilab.lab.saved import SavedRuns
from tuilab.lab.state import LabState
from tuilab.model import events as e
from tuilab.model.scenario import BUDGET, Opening, Scenario


@pytest.fixture
def saved(tmp_path):
    made = SavedRuns(LabState(), lambda words: None, lambda: Store.open(tmp_path))
    made.record()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("status", "count", "replay", "words"),
    [
        ("ok", 1, "", "saved as run 01234567; to export it: tuilab export last"),
        ("cancelled", 1, "", "saved as run 01234567; to continue it: tuilab resume last"),
        ("failed", 1, "", "saved as run 01234567; to continue it: tuilab resume last"),
        (None, 1, "", ""),
        ("ok", 0, "", ""),
        ("ok", 1, "replay · h", ""),
    ],
)
def test_the_last_words_name_the_run_and_the_next_command(saved, status, count, replay, words):
    *before, _ = run_of("0123456789", count)
    for event in [*before, *([e.Finished(run="0123456789", status=status)] if status else [])]:
        saved.receive(event)
        saved._state.shown.apply(event)
    saved._state.replay = replay
    assert saved.farewell() == words


def test_nothing_is_said_or_saved_before_the_first_record(tmp_path):
    unused = SavedRuns(LabState(), lambda words: None, lambda: Store.open(tmp_path))
    for event in run_of("r1", 1):
        unused.receive(event)
    assert (unused.farewell(), unused.close(), unused.in_no_history, unused.unattended) == (
        "",
        "",
        False,
        False,
    )
    assert unused.go_on(SimpleNamespace(id="r1")), "without a recorder, nothing is missing"
    assert unused.store is unused.store and unused.store.line("r1") is None
    assert unused.alike(e.Finished(run="", status="ok")) is None
    assert unused.set_aside(sqlite3.DatabaseError("database disk image is malformed")) == ""
    assert unused.close() == ""


def test_a_run_goes_on_only_if_the_history_has_all_of_it(saved):
    for event in [*run_of("r1", 1), *run_of("r2", 1)[:-1]]:
        saved.receive(event)
    assert [saved.go_on(SimpleNamespace(id=run)) for run in ("r1", "r2")] == [True, False]


def test_a_damaged_history_is_used_again_or_renamed(saved, tmp_path, monkeypatch):
    damage = sqlite3.DatabaseError("database disk image is malformed")
    damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    assert saved.set_aside(sqlite3.OperationalError("database is locked")) == ""
    assert saved.set_aside(damage) == "The history is readable again and still in use."
    monkeypatch.setattr("tuilab.history.recorder.reopen", lambda store: False)
    assert saved.set_aside(damage) == (
        "The file was renamed, nothing was deleted, and a new history was started."
    )
    assert len(list(tmp_path.glob("history-damaged-*.db"))) == 1


@pytest.mark.parametrize(
    ("running", "spool", "finish", "expected"),
    [
        (True, "/spool", True, True),
        (False, "/spool", True, False),
        (True, "", True, False),
        (True, "/spool", False, False),
    ],
)
def test_a_run_goes_on_unattended_only_if_it_can_be_saved(monkeypatch, running, spool, finish, expected):
    state = LabState()
    monkeypatch.setattr(LabState, "running", property(lambda self: running))
    state.spool, state.finish = spool, finish
    assert SavedRuns(state, lambda words: None, None).unattended is expected


@pytest.mark.parametrize(
    ("budget", "trust", "expected"),
    [("quick", True, False), ("quick", False, True), ("standard", True, True), ("publish", True, True)],
)
def test_a_confined_run_and_one_of_several_processes_need_the_lab(budget, trust, expected):
    state = LabState()
    scenario = Scenario("m", {}, file="model.keras", opening=Opening(trust=trust))
    state.shown.apply(started("r1", scenario=scenario, budget=BUDGET[budget]))
    state.asked, state.worker = "r1", Worker("ready")
    saved = SavedRuns(state, lambda words: None, None)
    assert saved.needs_lab is expected
    state.worker = Worker("starting")
    assert saved.needs_lab, "the worker does not know the request yet"


def test_a_run_that_is_not_yet_requested_is_marked_later(tmp_path):
    state = LabState()
    state.spool = str(tmp_path)
    saved = SavedRuns(state, lambda words: None, None)
    assert not saved.mark_away() and not list(tmp_path.iterdir())
    state.asked = "r1"
    assert saved.mark_away() and [file.name for file in tmp_path.iterdir()] == ["r1.away"]
