"""A lab in tmux that is detached and attached again during a measurement."""

import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.attack.test_attack import PROGRAM, linux, rounds_of
from tests.terminal.lab import environment
from tests.terminal.terminal import Terminal
from tests.terminal.test_over_ssh import tmux  # noqa: F401

pytestmark = [pytest.mark.terminal, linux, pytest.mark.timeout(300)]
ROUNDS = 1_500


def test_a_run_continues_while_no_terminal_is_attached(tmp_path, tmux):  # noqa: F811
    home = tmp_path / "home"
    home.mkdir()
    env = environment(home, ATTACK_ROUNDS=str(ROUNDS), XDG_STATE_HOME=str(tmp_path / "state"))
    words = [sys.executable, PROGRAM, "0.005", str(tmp_path / "truth"), "--preset", "stft-small"]
    client, size = [*tmux, "-u", "new-session", "-s", "lab", shlex.join(words)], (120, 40)

    def measured() -> int:
        return sum(file.stat().st_size for file in tmp_path.glob("truth.*"))

    def kept() -> bool:
        return ROUNDS in rounds_of(home).values()

    def more(than: int) -> Callable[[], bool]:
        return lambda: measured() > min(than + 20, ROUNDS - 1)

    for number in range(4):
        terminal = Terminal(client, env, size, cwd=str(home))
        client, size = [*tmux, "-u", "attach", "-t", "lab"], (100 + 7 * number, 30 + number)
        try:
            if number == 0:
                terminal.see("ready", seconds=120)
                terminal.press("r")
                terminal.until(measured, 60)
            terminal.see("tuilab", seconds=60)
            if number < 3:
                terminal.press("\x02d")
                assert terminal.ended(20) == 0, "detached"
                terminal.until(more(measured()), 60, "the run goes on")
                continue
            terminal.until(lambda: measured() == ROUNDS, 120, "all rounds measured")
            terminal.until(kept, 60, "all rounds kept")
            terminal.press("q")
            assert terminal.ended(30) == 0
        finally:
            terminal.close()
    assert subprocess.run([*tmux, "has-session"], capture_output=True).returncode, (
        "the session is still running"
    )
