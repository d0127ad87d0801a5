"""After an accident or a typing mistake, a command prints one line, exits with the right code, and loses
no data.
"""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.attack.test_calls_that_fail import environment, files, rounds_in, template
from tests.calling import TUILAB, here
from tests.cli.test_bad_arguments import TRACE
from tests.made import regular_run
from tuilab.history import packed
from tuilab.history.recording import write
from tuilab.history.store import FILE, Store
from tuilab.lab import files as lab_files
from tuilab.lab.export import write_kept
from tuilab.lab.history import CancellableProgress, History
from tuilab.presentation import titles
from tuilab.spool import Spool, folder

DEEP = "[" * 5_000


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return template(tmp_path_factory.mktemp("unlucky") / "home")


@pytest.fixture
def place(home, tmp_path, monkeypatch):
    """Create a home folder with a history and the user's files, and use it for the test."""
    shutil.copytree(home, tmp_path / "place")
    for name, value in environment(tmp_path / "place").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path / "place")
    return tmp_path / "place"


OVER = [
    "check own/article.md -o own/article.md --no-worker",
    "check own --json -o ./own/../own/wrong.py --no-worker",
    "check own/article.md --write-baseline own/article.md --no-worker",
    "check own/article.md --measure -o own/article.md",
    "watch --plain -o own/wrong.py -- own/wrong.py",
    "watch --plain --json own/wrong.py own/wrong.py",
    "watch --plain --json own/x -o own/x own/wrong.py",
    "export run1 -o data/history.db --format html",
    "export w0 -o data/history.db --format html",
    "history save run1 data/history.db",
]


@pytest.mark.parametrize("line", OVER)
def test_a_command_does_not_overwrite_its_input(place, line):
    here("history")  # the first command imports the run that continued in the background
    before, runs = files(place), rounds_in(place / "data" / FILE)
    done = here(*line.split())
    *notes, error = done.stderr.splitlines()
    assert done.returncode == 2 and len(notes) <= 1, done
    named = "is a database" if "history.db" in line else "expected a file that is not also an input"
    named = "expected a different file for each option" if "--json own/x" in line else named
    assert named in error and not TRACE.search(done.stderr), done
    assert files(place) == before and rounds_in(place / "data" / FILE) == runs


def nested(place, what):
    """Write a list that is nested thousands of levels deep into a file, or into a column of the history if
    `what` is `TABLE COLUMN`.
    """
    text, database = '{"type":"hello","x":' + DEEP, place / "data" / FILE
    if "." in what:
        file = place / what
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"[tool.tuilab.check]\nx = {DEEP}" if what.endswith(".toml") else text + "\n")
    else:
        table, column = what.split()
        connection = sqlite3.connect(database, isolation_level=None)
        connection.execute(f"UPDATE {table} SET {column} = ?", (text,))
        connection.close()


@pytest.mark.parametrize(
    ("what", "line", "code"),
    [
        ("own/page.json", "watch --open own/page.json", 2),
        ("own/base.json", "check own/wrong.py --no-worker --baseline own/base.json", 2),
        ("own/deep.ipynb", "check own/deep.ipynb --no-worker", 2),
        ("own/deep.jsonl", "history import own/deep.jsonl", 2),
        ("pyproject.toml", "check own/wrong.py --no-worker", 2),
        ("data/machines/m.json", "hosts", 0),
        ("data/spool/y.kept", "history unattended", 0),
        ("data/spool/y.jsonl", "history unattended", 0),
        ("programs page", "history programs", 0),
        ("programs page", "export w0", 2),
        ("events event", "export run1", 2),
        ("runs brief", "history", 0),
        ("runs scenario", "history", 0),
        ("runs scenario", "history check", 4),
    ],
)
def test_a_deeply_nested_file_is_reported_as_unreadable(place, what, line, code):
    nested(place, what)
    done = here(*line.split())
    assert done.returncode == code and not TRACE.search(done.stderr), done


def test_a_deeply_nested_settings_file_is_tolerated(place):
    file = place / "state/tuilab/preferences.json"
    file.write_text('{"theme":' + DEEP)
    assert lab_files.preferences() == lab_files.Preferences()
    kept = titles._file()
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(DEEP)
    assert titles.read_saved_titles(()) == ()


def test_own_code_that_python_cannot_compile_is_reported(place):
    (place / "own/mine.py").write_text(f"def f(x=32):\n    return {'x + ' * 50_000}1\n")
    done = here("run", "own/mine.py:f")
    assert done.returncode == 2 and "own/mine.py" in done.stderr and not TRACE.search(done.stderr), done


def test_a_file_that_never_ends_counts_as_damaged(monkeypatch):
    monkeypatch.setattr(packed, "MOST_BYTES", 2**20)
    bomb = zlib.compress(b"\0" * (packed.MOST_BYTES + 1))
    with pytest.raises(zlib.error):
        packed.inflated(bomb)
    assert packed.sound(bytes([packed.FORM]) + bomb, "r1", 1)
    whole = random.Random(1).randbytes(100_000)
    assert packed.inflated(zlib.compress(whole)) == whole
    with pytest.raises(zlib.error):
        packed.inflated(zlib.compress(whole)[:-1])


@pytest.mark.parametrize("run", ["../../../evil", "{}/evil", "a/../../evil", ".."])
def test_the_run_id_of_a_recording_cannot_name_another_folder(place, run):
    run = run.format(place)
    write(place / "own/theirs.jsonl", regular_run(run, 5)[:-1])
    assert here("history", "import", "own/theirs.jsonl").returncode == 0
    before = {str(file) for file in place.parent.rglob("*")}
    kept = Spool(run, str(folder(place / "data")))
    assert kept.is_complete
    store = Store.open()
    path = write_kept("json", run, (), place / "own", CancellableProgress("Writing"), History(store))
    store.close()
    new = {str(file) for file in place.parent.rglob("*")} - before
    assert new <= {
        str(kept._file),
        str(path),
        *(str(place / "data" / f"{FILE}{end}") for end in ("-wal", "-shm")),
    }
    assert path.parent == place / "own" and kept._file.parent == place / "data/spool"


@pytest.mark.parametrize("words", ["~noone-of-that-name", "~noone-of-that-name/mine.py:f", "~a"])
def test_the_home_of_an_unknown_user_counts_as_a_missing_file(place, words, monkeypatch):
    assert lab_files.completed(words) is None and lab_files.completed_to_file(words) is None
    lab_files.remember_opened(words)
    for line in (
        ["run", words],
        ["check", words, "--no-worker"],
        ["explain", words],
        [words],
        ["watch", "--open", words],
    ):
        done = here(*line)
        assert done.returncode == 2 and not TRACE.search(done.stderr), (line, done)
    monkeypatch.setenv("TUILAB_DATA", f"{words}/data")
    done = here("history")
    assert done.returncode == 0 and not TRACE.search(done.stderr), done


@pytest.mark.parametrize(
    "line",
    ["check x.md --no-worker", "check . --no-worker", "run x.py:f", "watch --plain --json x.json true"],
)
def test_a_deleted_working_folder_is_named(place, monkeypatch, line):
    (place / "gone").mkdir()
    monkeypatch.chdir(place / "gone")
    (place / "gone").rmdir()
    done = here(*line.split())
    assert done.returncode == 2 and "the current folder" in done.stderr, done


@pytest.mark.parametrize("line", ["export run1", "export run1 --format json", "history", "check --rules"])
def test_characters_outside_the_encoding_are_replaced_by_a_mark(place, line):
    about = {**os.environ, **environment(place), "PYTHONIOENCODING": "iso-8859-1"}
    done = subprocess.run([*TUILAB, *line.split()], env=about, capture_output=True, timeout=120)
    text = done.stdout.decode("iso-8859-1")
    assert done.returncode == 0 and text and not TRACE.search(done.stderr.decode("iso-8859-1")), done
    assert "json" not in line or isinstance(json.loads(text), dict)


DOCUMENT = "```python\nimport tensorflow as tf, time\nt = time.time()\ntf.ones((9, 9)) @ tf.ones((9, 9))\nprint(time.time() - t)\n```\n"


@pytest.fixture
def maze(place):
    """Create a folder with circular links, links to system folders, undecodable names, and 1,500 nested
    folders.
    """
    folder = place / "docs"
    folder.mkdir()
    for name in ("a\nb.md", "\x1b[31mred.md", "[a].md", os.fsdecode(b"\xff\xfe.md")):
        (folder / name).write_text(DOCUMENT)
    (folder / "loop").symlink_to(folder)
    (folder / "proc").symlink_to("/proc/self")
    (folder / "zero.md").symlink_to("/dev/zero")
    os.mkfifo(folder / "fifo.md")
    before = os.getcwd()
    os.chdir(folder)
    for _ in range(1_500):
        os.mkdir("d")
        os.chdir("d")
    Path("deep.md").write_text(DOCUMENT)
    os.chdir(before)
    yield folder
    # shutil.rmtree fails at Python's recursion limit
    subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.mark.parametrize("path", ["docs", "docs/**/*.md", "docs/**", "docs/*/**"])
def test_a_circular_or_very_deep_folder_is_searched(maze, path):
    code, count = {"docs": (1, 5), "docs/**": (1, 5), "docs/**/*.md": (2, 7), "docs/*/**": (1, 6)}[path]
    done = here("check", path, "--no-worker")
    assert done.returncode == code and not TRACE.search(done.stdout + done.stderr), done
    assert f"{count} file" in done.stderr and "\x1b" not in done.stdout + done.stderr, done.stderr


def test_an_unreadable_file_does_not_prevent_fixing_others(maze):
    (maze / "aaa.md").symlink_to("nowhere")
    done = here("check", "docs", "--fix", "--no-worker")
    assert done.returncode == 2 and "perf_counter" in (maze / "[a].md").read_text(), done
    assert "1 file could not be read" in done.stderr
    again = here("check", "docs", "--diff", "--no-worker")
    assert again.returncode == 2 and "aaa.md" in again.stderr
