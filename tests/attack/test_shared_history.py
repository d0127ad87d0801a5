"""Two labs, a program watched in one of the labs, and commands share one history. Random processes are
killed.
"""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.test_attack import PROGRAM, ours
from tests.calling import environment, run
from tests.history.test_check import rounds
from tests.terminal import lab as terminal_lab
from tests.terminal.terminal import Terminal
from tuilab.history.check import check
from tuilab.history.store import FILE

SEED = int(os.environ.get("TUILAB_TESTS_SEED", "45"))
ROUNDS = int(os.environ.get("TUILAB_TESTS_ROUNDS", "200"))
SHORT_S = 30.0
IN_A_RUN = "12"
TRAINS = "import time\nprint('begun', flush=True)\ntime.sleep(0.2)\n"
DAMAGE = ("malformed", "not a database", "integrity", "cannot be read")


class Shared:
    def __init__(self, folder: Path) -> None:
        self.folder, self.truth, self.random = folder, folder / "truth", random.Random(SEED)
        (folder / "train.py").write_text(TRAINS)
        self.env = terminal_lab.environment(folder, TMPDIR=str(folder), ATTACK_ROUNDS=IN_A_RUN)
        self.labs: dict[str, Terminal] = {}
        self.kills = self.watches = self.commands = 0
        self.said: list[str] = []

    def words(self, *words: str) -> list[str]:
        return [sys.executable, str(PROGRAM), "0.005", str(self.truth), *words]

    def lab(self, name: str) -> Terminal:
        if name not in self.labs:
            self.labs[name] = Terminal(self.words(), self.env, (120, 40), cwd=str(self.folder))
            self.labs[name].see("ready")
        return self.labs[name]

    def kill(self, name: str) -> None:
        self.kills += 1
        self.labs.pop(name).close()

    def watch(self, terminal: Terminal) -> None:
        terminal.press("o")
        terminal.see("completes")
        terminal.press("train.py\r")
        terminal.see("run and watch it")
        terminal.press("\r")
        terminal.see("ended with exit code 0")
        terminal.press("q")
        terminal.until(lambda: not terminal.shows("ended with exit code 0"))
        self.watches += 1

    def command(self, killed: bool, *words: str) -> None:
        out = self.folder / f"said-{threading.get_ident()}"
        with out.open("wb") as said:
            process = subprocess.Popen(
                self.words(*words), env=self.env, stdout=said, stderr=said, cwd=self.folder
            )
            if killed:
                time.sleep(self.random.uniform(0.05, 2.0))
                process.kill()
                self.kills += 1
            process.wait(120)
        self.commands += 1
        self.said += [
            line for line in out.read_text(errors="replace").splitlines() if any(w in line for w in DAMAGE)
        ]

    def round(self) -> None:
        die = self.random.random
        beside = [
            threading.Thread(target=self.command, args=(die() < 0.2, *words))
            for words in (("run", "stft-small", "--budget", "quick"), ("history",))
        ]
        for thread in beside:
            time.sleep(self.random.uniform(0.0, 0.3))
            thread.start()
        first, second = self.lab("first"), self.lab("second")
        second.press("r")
        if die() < 0.7:
            self.watch(first)
        first.press("r")
        if die() < 0.3:
            first.press("h")
            first.see("filters the runs")
            first.press("\x1b")
            first.until(
                lambda: not first.shows("filters the runs")
            )  # without a pause, the terminal would read Esc and the next key as an Alt combination
        time.sleep(self.random.uniform(0.0, 0.5))
        for name in ("first", "second"):
            if die() < 0.15:
                self.kill(name)
        for thread in beside:
            thread.join()
        assert self.integrity() == "ok"
        assert self.said == [], self.said

    def integrity(self) -> str:
        with contextlib.closing(sqlite3.connect(self.folder / FILE, timeout=20)) as connection:
            return str(connection.execute("PRAGMA integrity_check").fetchone()[0])

    def end(self) -> None:
        """Close everything, import background runs, and check that the history contains all rounds that the
        workers counted.
        """
        for terminal in self.labs.values():
            terminal.press("q")
            terminal.ended()
            terminal.close()
        until = time.monotonic() + 60
        while ours(str(self.truth)) and time.monotonic() < until:
            time.sleep(0.1)
        done = run(
            self.folder, "history", "unattended", env=environment(self.folder, TMPDIR=str(self.folder))
        )
        assert done.returncode == 0, done
        kept = rounds(self.folder)
        counted = {file.suffix[1:]: file.stat().st_size for file in self.folder.glob("truth.*")}
        lost = {name: (count, kept.get(name)) for name, count in counted.items() if count > kept.get(name, 0)}
        assert lost == {}
        report = check(self.folder / FILE)
        assert report.findings == () and report.runs >= len(counted) > 0
        assert not list(self.folder.glob("history-damaged*"))


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    some = Shared(tmp_path)
    try:
        yield some
    finally:
        for terminal in some.labs.values():
            terminal.close()
        for process in ours(str(some.truth)):
            with contextlib.suppress(Exception):
                process.send_signal(signal.SIGKILL)


@pytest.mark.smoke
@pytest.mark.terminal
@pytest.mark.timeout(300)
def test_killed_labs_watches_and_commands_share_a_history(shared: Shared) -> None:
    until, done = time.monotonic() + SHORT_S, 0
    while time.monotonic() < until:
        shared.round()
        done += 1
    shared.end()
    assert done and shared.commands == 2 * done


@pytest.mark.terminal
@pytest.mark.long
@pytest.mark.timeout(7_200)
def test_two_hundred_rounds_of_kills_lose_nothing(shared: Shared) -> None:
    for number in range(ROUNDS):
        shared.round()
        print(f"round {number + 1}: {shared.kills} kills, {shared.watches} watches", flush=True)
    shared.end()
