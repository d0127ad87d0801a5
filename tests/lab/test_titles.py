"""The presets' titles are saved for the next start, and are shown only while they are valid."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tuilab import catalogue
from tuilab.paths import shipped_folder
from tuilab.presentation import titles

ROWS = (titles.Title("000 STFT", kind="heading"), titles.Title("1 small", "stft-small", "It is."))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(titles, "state_folder", lambda: tmp_path / "state")
    made = tmp_path / "presets"
    made.mkdir()
    (made / "one.toml").write_text("title = 'one'")
    return made


def test_titles_are_kept_for_the_next_start(folder: Path):
    assert titles.read_saved_titles([folder]) == ()
    titles.keep([folder], ROWS)
    assert titles.read_saved_titles([folder]) == ROWS
    assert titles.read_saved_titles([]) == (), "no titles were saved for other folders"


@pytest.mark.parametrize("change", ["edit", "add", "remove", "damage"])
def test_a_change_of_any_file_makes_the_titles_stale(folder: Path, change: str):
    titles.keep([folder], ROWS)
    file = folder / "one.toml"
    match change:
        case "edit":
            file.write_text("title = 'two'")
            os.utime(file, ns=(1, 1))
        case "add":
            (folder / "two.toml").write_text("")
            os.utime(folder, ns=(1, 1))
        case "remove":
            file.unlink()
        case "damage":
            (folder.parent / "state" / "titles.json").write_text("{")
    assert titles.read_saved_titles([folder]) == ()


@pytest.fixture
def first_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's preset folder, which is empty. No titles have been saved yet."""
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    return tmp_path / "CONFIG" / "tuilab" / "presets"


def test_first_start_shows_all_titles_without_reading_presets(first_start: Path):
    code = (
        "import sys; from tuilab.presentation import titles; rows, read = titles.at_start(());"
        "print(read is None, 'msgspec' in sys.modules, [row.name for row in rows])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = catalogue.load(shipped_folder())
    names = [row.name for row in titles.titles(found.presets, found.problems)]
    assert run.stdout.strip() == f"True False {names}"


def test_own_or_changed_presets_are_read_at_a_first_start(
    first_start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first_start.mkdir(parents=True)
    preset = next(shipped_folder().glob("*.toml"))
    shutil.copy(preset, first_start / "own.toml")
    rows, read = titles.at_start(())
    assert read is not None and "own" in {row.name for row in rows}
    (first_start / "own.toml").unlink()
    assert titles.indexed()
    shipped = tmp_path / "shipped"
    shutil.copytree(shipped_folder(), shipped)
    with (shipped / preset.name).open("a") as file:
        file.write("# edited\n")
    monkeypatch.setattr(titles, "shipped_folder", lambda: shipped)
    assert titles.indexed() == ()


def test_rows_list_documents_and_presets_and_unreadable_files():
    found = catalogue.load(shipped_folder())
    rows = titles.titles(found.presets, [catalogue.Problem("/x/broken.toml", "arms", "got 1")])
    assert rows[0].kind == "heading" and rows[0].text.startswith("000 ")
    assert [r.name for r in rows if r.kind == "preset"] == [p.name for p in found.presets]
    assert rows[-1] == titles.Title("broken", "broken", "/x/broken.toml: arms: got 1", "problem")


def test_a_filter_lists_matching_presets():
    rows = (
        titles.Title("000 STFT and the GPU", kind="heading"),
        titles.Title("1 small input", "small", "a graph wins"),
        titles.Title("001 maps", kind="heading"),
        titles.Title("1 slow map", "slow", ""),
    )
    assert [row.name for row in titles.matching(rows, "graph small")] == ["", "small"]
    assert [row.name for row in titles.matching(rows, "stft")] == ["", "small"]
    assert titles.matching(rows, "nothing like it") == ()
    assert titles.matching(rows, " ") == rows
