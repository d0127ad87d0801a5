"""After a dropped connection, a run continues. The next lab shows its progress and finally the whole run."""

import contextlib
import signal
import sys
from pathlib import Path

import pytest

from tests.attack.test_attack import PROGRAM, linux, ours
from tests.calling import run
from tests.terminal.lab import environment
from tests.terminal.terminal import Terminal, click, find
from tuilab.history import browse
from tuilab.history.store import Store

pytestmark = [pytest.mark.terminal, linux]


TRUTH = "tuilab.worker"
"""Prefix of the names of the files in which the fake worker records its rounds. The worker gets this prefix on
its command line, where a lab looks for `tuilab.worker`.
"""


def rounds_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob(f"{TRUTH}.*"))


def begun(folder: Path, rounds: int, keys: str = "r") -> tuple[Terminal, list[str], dict[str, str]]:
    env = environment(folder, ATTACK_ROUNDS=str(rounds), TMPDIR=str(folder))
    words = [sys.executable, str(PROGRAM), "0.02", str(folder / TRUTH)]
    terminal = Terminal(words, env, (80, 24), cwd=str(folder))
    terminal.see("ready")
    for key in keys:
        terminal.press(key)
    terminal.until(lambda: rounds_of(folder) > 5)
    return terminal, words, env


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path):
    yield
    for process in ours(str(tmp_path / TRUTH)):
        with contextlib.suppress(Exception):
            process.send_signal(signal.SIGKILL)


def test_a_lab_shows_and_imports_a_run_in_the_background(tmp_path: Path) -> None:
    terminal, words, env = begun(tmp_path, 600)
    terminal.hang_up()
    terminal.ended()
    later = Terminal(words, env, (80, 24), cwd=str(tmp_path))
    try:
        later.see("1 run in the background")
        click(later, *find(later, "1 run in the background"))
        later.see("replay")
        later.see("finished in the background")
        later.press("q")
        later.ended()
    finally:
        later.close()
    store = Store.open(tmp_path)
    (entry,) = browse.page(store, limit=2)
    store.close()
    assert entry.line.answer and entry.brief is not None and entry.brief.fastest
    assert entry.line.rounds == rounds_of(tmp_path) == 600 and entry.line.tags == ("background",)


def test_a_command_also_imports_a_run_in_the_background(tmp_path: Path) -> None:
    terminal, *_ = begun(tmp_path, 200)
    terminal.hang_up()
    terminal.ended()
    assert "is still running in the background" in run(tmp_path, "history").stderr
    terminal.until(lambda: not ours(str(tmp_path / TRUTH)))
    listed = run(tmp_path, "history")
    assert (
        "#background" in listed.stdout
        and "finished in the background; it is in the history, as" in listed.stderr
    )
    assert run(tmp_path, "history", "unattended").stdout == ""
    store = Store.open(tmp_path)
    (entry,) = browse.page(store, limit=2)
    store.close()
    assert entry.line.answer and entry.brief is not None and entry.brief.fastest
    assert "#background" in run(tmp_path, "history").stdout


@pytest.mark.parametrize("stop", [False, True])
def test_a_run_of_several_processes_also_continues_and_can_be_stopped(tmp_path: Path, stop: bool) -> None:
    terminal, *_ = begun(tmp_path, 600 if stop else 12, "br")
    terminal.hang_up()
    terminal.until(lambda: "is still running in the background" in run(tmp_path, "history").stderr)
    if stop:
        told = run(tmp_path, "history", "unattended", "--stop").stdout
        assert "stopped; its rounds are imported" in told
    assert terminal.ended(60) == 128 + signal.SIGHUP or stop
    said = run(tmp_path, "history")
    assert stop or "finished in the background; it is in the history" in said.stderr
    assert run(tmp_path, "history", "unattended").stdout == ""
    store = Store.open(tmp_path)
    (entry,) = browse.page(store, limit=2)
    state = store.state(entry.run)
    store.close()
    assert state.rounds == entry.line.rounds
    assert (state.status, state.workers > 1) == (("cancelled", False) if stop else ("ok", True))
