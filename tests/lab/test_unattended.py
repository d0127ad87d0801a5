"""A run that continued after its lab had ended gets its result when the next lab imports the run."""

from pathlib import Path

from tests.made import regular_run
from tuilab.history.lines import UNATTENDED
from tuilab.history.recording import write
from tuilab.history.store import Store
from tuilab.lab.history import History
from tuilab.spool import DONE, folder


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
