import re
from pathlib import Path

import pytest

from tests.history.test_store import keep
from tests.made import run_of
from tuilab.history.recording import read
from tuilab.history.store import Store
from tuilab.lab.export import formats, free, suffix, write_kept
from tuilab.lab.history import CancellableProgress, History, Stopped
from tuilab.report.formats import FORMATS


@pytest.fixture
def history(tmp_path: Path):
    store = Store.open(tmp_path)
    keep(store, "r1/../23456789", preset="../my preset")
    keep(store, "r2", preset="")
    yield History(store)
    store.close()


def written(key: str, run: str, history: History, folder: Path) -> Path:
    return write_kept(key, run, (), folder, CancellableProgress("Writing"), history)


def test_a_screen_without_a_run_is_only_exported_as_a_picture() -> None:
    assert [offer.key for offer in formats(False)] == ["svg"]
    assert [offer.key for offer in formats(True)] == [*FORMATS, "svg", "recording"]
    assert (suffix("svg"), suffix("recording"), suffix("json")) == (".svg", ".jsonl", ".json")


def test_a_file_is_named_after_preset_or_workload_and_stays_in_its_folder(
    history: History, tmp_path: Path
) -> None:
    names = [written("json", run, history, tmp_path).name for run in ("r1/../23456789", "r2", "r2")]
    assert names == [
        "tuilab-..-my-preset-20261121000000-r1----23.json",
        "tuilab-stft-20261121000000-r2.json",
        "tuilab-stft-20261121000000-r2-2.json",
    ]


def test_an_exported_recording_has_every_event(history: History, tmp_path: Path) -> None:
    assert list(read(written("recording", "r2", history, tmp_path)))[1:] == run_of("r2", 3, preset="")


def test_a_recording_that_was_stopped_is_deleted(history: History, tmp_path: Path) -> None:
    going = CancellableProgress("Writing")
    going.stop()
    with pytest.raises(Stopped):
        write_kept("recording", "r2", (), tmp_path, going, history)
    assert not list(tmp_path.glob("tuilab-*"))


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    for number in range(3):
        file = free(tmp_path / "a.csv")
        assert re.fullmatch("a.csv" if not number else rf"a-{number + 1}\.csv", file.name)
        file.touch()
