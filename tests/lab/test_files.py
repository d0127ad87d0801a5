"""The lab's own files, and the messages about them."""

from pathlib import Path

import pytest

from tuilab.lab import files


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    monkeypatch.setattr(files, "state_folder", lambda: folder)
    return folder


def fault() -> Exception:
    try:
        raise ValueError("a figure")
    except ValueError as error:
        return error


def test_a_crash_report_is_written_where_the_message_says(state):
    said = files.keep_fault(fault())
    file = state / "tuilab-fault.txt"
    assert said == (
        f"tuilab stopped because of an internal error (ValueError: a figure). All runs are saved; details are in {file}"
    )
    assert "ValueError: a figure" in file.read_text() and 'raise ValueError("a figure")' in file.read_text()


def test_a_crash_that_cannot_be_written_is_printed_in_full(state, monkeypatch):
    monkeypatch.setattr(files, "write_private", lambda *_: False)
    said = files.keep_fault(fault())
    assert said.startswith("tuilab stopped because of an internal error. All runs are saved.\nTraceback")
    assert "ValueError: a figure" in said and "details" not in said


def test_a_copied_command_is_also_stored(state, monkeypatch):
    kept = files.keep_command("tuilab run x")
    assert kept == state / "command.txt" and kept.read_text() == "tuilab run x\n"
    monkeypatch.setattr(files, "write_private", lambda *_: False)
    assert files.keep_command("tuilab run x") is None


def test_only_the_first_visit_counts_as_first(state):
    assert [files.first_visit() for _ in range(3)] == [True, False, False]
