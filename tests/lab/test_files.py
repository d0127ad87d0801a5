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


def test_preferences_keep_the_latest_twelve_in_order_and_survive_a_bad_file(state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert files.preferences() == files.Preferences("", (), ())
    made = [tmp_path / f"{number}.py" for number in range(13)]
    for path in made:
        path.touch()
        files.remember_opened(path.name)
    files.remember_opened("3.py")
    files.remember_theme("nord")
    latest = [made[3], *(made[number] for number in range(12, 0, -1) if number != 3)]
    assert files.preferences() == files.Preferences("nord", tuple(map(str, latest)), ())
    made[12].unlink()
    assert files.reopened() == [str(path) for path in latest if path != made[12]]
    for word in ("a=/x", "b=/y", "a=/z"):
        files.remember_environment(word)
    assert files.preferences().environments == ("a=/z", "b=/y")
    for text in ("[1]", '{"recent": 3}', "{", "[" * 5_000):
        (state / "preferences.json").write_text(text)
        assert files.preferences() == files.Preferences(), text
    (state / "preferences.json").write_text('{"recent": ["kept"]}')
    assert files.preferences() == files.Preferences(recent=("kept",))


def test_a_recent_path_keeps_its_verb_function_and_inputs(state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").touch()
    for typed, kept in (
        ("f.py", f"{tmp_path}/f.py"),
        ("f.py:step", f"{tmp_path}/f.py:step"),
        ("watch f.py", f"watch {tmp_path}/f.py"),
        ("f.py:step --input 8x8", f"{tmp_path}/f.py:step --input 8x8"),
        ("f.py --epochs 2", f"{tmp_path}/f.py --epochs 2"),
        ("gone.py", "gone.py"),
    ):
        files.remember_opened(typed)
        assert files.preferences().recent[0] == kept
        assert files.from_here(kept) == typed
    assert files.from_here(f"{tmp_path}/") == f"{tmp_path}/"
    files.remember_opened("\udce9.py")
    assert files.preferences().recent[0] == "gone.py", "a path that is not UTF-8 is not saved"
    files.remember_opened("matmul")
    assert files.reopened() == [
        "matmul", f"{tmp_path}/f.py --epochs 2", f"{tmp_path}/f.py:step --input 8x8", f"watch {tmp_path}/f.py",
        f"{tmp_path}/f.py:step", f"{tmp_path}/f.py",
    ]  # fmt: skip


def test_a_typed_path_is_completed_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    for name in ("make.py", "model.py", ".hidden", "models/.git", "models/z.py"):
        (tmp_path / name).touch()
    (tmp_path / "new\nline").touch()
    cases = {
        "": None, "m": "make.py", "mo": "model.py", "models": "models/", "models/": "models/z.py",
        ".": ".hidden", "models/.": "models/.git", "..": None, "x": None, "none/x": None, "new": None, f"{tmp_path}/ma": f"{tmp_path}/make.py",
    }  # fmt: skip
    assert {typed: files.completed(typed) for typed in cases} == cases
    file = {
        "": None,
        "m": "make.py",
        "models": None,
        "models/": None,
        "models/z": "models/z.py",
        "make.py": None,
    }
    assert {typed: files.completed_to_file(typed) for typed in file} == file


def test_private_files_need_a_known_home_and_no_link(tmp_path):
    assert files.write_private(tmp_path / "a" / "b", "text") and (tmp_path / "a" / "b").read_text() == "text"
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    assert not files.write_private(tmp_path / "link", "other")
    assert not files.write_private(Path("relative"), "other") and not Path("relative").exists()
    assert not files.write_private(tmp_path / "a" / "b" / "c", "other")
    assert (tmp_path / "a" / "b").read_text() == "text"
