"""If the history cannot save a run, the first line of the screen reports this in red, and a command reports
it by its exit code.
"""

import contextlib
import errno
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.attack.shim import FOREVER, faulty  # noqa: F401
from tests.attack.test_calls_that_fail import WORKER
from tests.calling import here, run
from tests.history.test_check import filled, rounds
from tests.tui.lab import lab, opened, press, until
from tuilab.cli.exits import NOT_KEPT
from tuilab.history.store import FILE, Store
from tuilab.tui.panels.header import Header
from tuilab.tui.widgets.look import BAD

MEASURES = ["run", "stft-small", "--budget", "quick"]


def red(app) -> str:
    (line,) = app.screen_stack[0].query_one(Header).paint(app.size.width, 1)
    return "".join(words for words, style in line if style == BAD)


@contextlib.contextmanager
def locked(file):
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_the_first_line_is_red_until_the_run_is_in_the_history(tmp_path, size):
    app = lab(tmp_path, hold=4)
    async with opened(app, size) as pilot:
        await press(pilot, app, ["r"])
        assert red(app) == "", "the run is saved so far"
        with locked(tmp_path / "history" / FILE):
            app.runner.let_go()
            began = time.monotonic()
            await until(pilot, lambda: "not saved" in red(app))
            until_said = time.monotonic() - began
            words = red(app)
            assert "another program has it locked" in words and "its data is in" in words, words
            for _ in range(3):
                await pilot.pause(0.2)
                assert "not saved" in red(app), "it stays"
            held = time.monotonic() - began
        await until(pilot, lambda: not red(app).strip("▲"))
        assert until_said < held, "the message appears while the lock is held"
        assert app.lab.history.entries()[0].line.status == "ok"


def played(faulty, tmp_path, data, fault, *words, below=None):  # noqa: F811
    worker = [sys.executable, WORKER, "0.001", str(tmp_path / "truth"), "6"]
    return faulty.play(
        words or MEASURES,
        fault,
        below=below or tmp_path,
        worker=worker,
        seconds=120.0,
        TUILAB_DATA=str(data),
        TMPDIR=str(tmp_path),
    )


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    filled(tmp_path / "data", 3)
    return tmp_path / "data"


def test_without_file_locks_a_run_is_not_kept_and_the_exit_code_says_so(data, tmp_path, faulty):  # noqa: F811
    """The data folder and the temporary folder are on a network file system without locks, which SQLite
    cannot use.
    """
    done = played(faulty, tmp_path, data, ("lock", 1, FOREVER, errno.ENOLCK))
    assert done.code == NOT_KEPT, done
    lines = [line for line in done.said.splitlines() if line.startswith("tuilab:")]
    assert sum("runs are only in memory" in line for line in lines) == 1, lines
    assert "history.db cannot be opened (its file system has no locks)" in lines[0], lines
    (truth,) = tmp_path.glob("truth.*")
    found = here("history", "unattended")
    assert found.returncode == 0, found
    assert rounds(data)[truth.suffix[1:]] == truth.stat().st_size == 6


def test_without_file_locks_at_home_a_run_is_kept_elsewhere_until_they_work(data, tmp_path, faulty):  # noqa: F811
    done = played(faulty, tmp_path, data, ("lock", 1, FOREVER, errno.ENOLCK), below=data)
    assert done.code == 0 and done.said.count("runs are saved in ") == 1, done
    (truth,) = tmp_path.glob("truth.*")
    Store.open().close()
    assert rounds(data)[truth.suffix[1:]] == 6


def test_a_run_in_a_read_only_home_is_kept_elsewhere(tmp_path, monkeypatch):
    home = tmp_path / "home"
    filled(home, 3)
    if subprocess.run(["mount", "--bind", home, home], capture_output=True).returncode:
        pytest.skip("a read-only folder needs the right to mount one")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", home], check=True)
        env = {
            **os.environ,
            "TUILAB_DATA": str(home),
            "XDG_CONFIG_HOME": str(tmp_path),
            "TMPDIR": str(tmp_path),
        }
        listed = run(tmp_path, "history", env=env)
        assert listed.returncode == 0 and listed.stdout.count("\n") == 3, listed
        assert listed.stderr.count("\n") == 1 and "its disk is read-only" in listed.stderr, listed
    finally:
        subprocess.run(["umount", "-l", home], check=True)
    assert rounds(home) == {f"run{number}": 300 for number in range(3)}


def test_a_linked_history_stays_in_its_folder(tmp_path, monkeypatch):
    """Even a damaged history stays in the linked folder. After the damaged history is replaced, the link
    points to the new history in that folder.
    """
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "data"
    monkeypatch.setenv("TUILAB_DATA", str(folder))
    filled(elsewhere, 3)
    folder.mkdir()
    (folder / FILE).symlink_to(elsewhere / FILE)
    assert here("history").stdout.count("\n") == 3
    whole = (elsewhere / FILE).read_bytes()
    (elsewhere / FILE).write_bytes(b"no database" * 1_000)
    done = here("history")
    assert done.returncode == 0 and "it was renamed to history-damaged-" in done.stderr, done
    (aside,) = elsewhere.glob("history-damaged-*")
    assert (folder / FILE).is_symlink() and (elsewhere / FILE).exists()
    aside.write_bytes(whole)
    assert here("history", "check", "--repair", str(aside)).returncode == 0
    assert rounds(elsewhere) == {f"run{number}": 300 for number in range(3)}


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


def test_a_large_file_that_is_not_a_history_is_set_aside_by_its_header(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    read = {}
    for size in (2**20, 5 * 2**30):
        with (tmp_path / FILE).open("wb") as stream:
            stream.truncate(size)
        before = bytes_read()
        done = here("history")
        read[size] = bytes_read() - before
        assert done.returncode == 0 and "it was renamed to history-damaged-" in done.stderr, done
    assert read[5 * 2**30] < read[2**20] + 2**20, read
