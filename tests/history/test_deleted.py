import pytest

from tests.calling import here
from tests.made import regular_run
from tuilab.history.recording import write
from tuilab.history.store import Store
from tuilab.model import events as e
from tuilab.spool import DONE, folder

RUN, OTHER = "a" * 32, "a" * 33


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    store = Store.open()
    events = regular_run(RUN, 40)
    store.replace(events[0], [e.encode(event).rstrip() for event in events])
    store.conclude(RUN, "ok", "")
    store.soft_delete([RUN], asked=True)
    store.close()
    return tmp_path / "data"


@pytest.mark.parametrize("count", [20, 40, 60])
def test_an_import_restores_a_deleted_run(data, tmp_path, count):
    write(tmp_path / "run.jsonl", regular_run(RUN, count))
    done = here("history", "import", str(tmp_path / "run.jsonl"))
    assert (done.returncode, done.stderr) == (0, "1 run imported\n")
    store = Store.open()
    assert [(line.run, line.rounds) for line in store.runs()] == [(RUN, max(count, 40))]
    store.close()


def test_an_import_of_a_known_run_says_so_and_changes_nothing(data, tmp_path):
    known, more = tmp_path / "known.jsonl", tmp_path / "more.jsonl"
    write(known, regular_run(OTHER, 20))
    write(more, regular_run(OTHER, 30))
    assert here("history", "import", str(known)).stderr == "1 run imported\n"
    before = here("history", "--json").stdout
    again = here("history", "import", str(known))
    said = f"run {OTHER[:8]} is already in the history; nothing changed\n"
    assert (again.returncode, again.stderr) == (0, said)
    assert here("history", "--json").stdout == before
    assert here("history", "import", str(more)).stderr == "1 run imported\n", (
        "the imported run has more rounds"
    )


def test_rounds_left_by_the_worker_stay_deleted_and_can_be_restored(data):
    write(folder(data) / f"{RUN}{DONE}", regular_run(RUN, 60))
    done = here("history", "unattended")
    assert done.returncode == 0, done.stderr
    assert here("history").stdout == ""
    assert here("history", "undelete", RUN).returncode == 0
    store = Store.open()
    assert store.find(RUN).rounds == 60 and store.state(RUN).rounds == 60
    store.close()


def test_the_lab_says_what_happened_to_a_deleted_run(data):
    from tuilab.lab.recorder import RunRecorder
    from tuilab.lab.state import LabState

    write(folder(data) / f"{RUN}{DONE}", regular_run(RUN, 60))
    recorder = RunRecorder(LabState(), lambda text: None)
    assert recorder.notices == [
        f"a deleted run of stft-small continued in the background; `tuilab history undelete {RUN}` "
        "restores it with its 60 rounds"
    ]
    recorder.close()


def test_a_full_id_is_found_though_another_begins_with_it(data, tmp_path):
    write(tmp_path / "two.jsonl", [*regular_run(RUN, 20), *regular_run(OTHER, 20)])
    done = here("history", "import", str(tmp_path / "two.jsonl"))
    assert (done.returncode, done.stderr) == (0, "2 runs imported\n")
    assert here("export", RUN, "--format", "csv").returncode == 0
    assert here("history", "delete", RUN[:9]).returncode == 2, "two runs begin with this id"


def test_a_deleted_run_is_restored_by_the_start_of_its_id(data):
    store = Store.open()
    for run in ("b" * 32, "b" * 31 + "c", OTHER):
        events = regular_run(run, 20)
        store.replace(events[0], [e.encode(event).rstrip() for event in events])
        store.conclude(run, "ok", "")
    for run in ("b" * 32, "b" * 31 + "c"):
        store.soft_delete([run], asked=True)
    store.close()
    ambiguous = here("history", "undelete", "bbbbbbbb")
    assert (ambiguous.returncode, ambiguous.stdout) == (2, "")
    assert "exactly one id of a deleted run" in ambiguous.stderr
    restored = here("history", "undelete", "aaaaaaaa")
    assert (restored.returncode, restored.stdout) == (0, RUN + "\n"), (
        "a run that was not deleted does not match"
    )
    assert here("history", "undelete", "aaaaaaaa").returncode == 2
