"""By keyboard in a terminal, a user adds, saves and chooses an environment, and measures it together with
tuilab's own environment.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environments import build
from tests.terminal.lab import READY_S, environment, leave, opened

pytestmark = [pytest.mark.real_worker, pytest.mark.terminal, pytest.mark.timeout(600)]


def test_an_environment_is_added_and_measured_together_with_the_default_one(
    tmp_path: Path, tensorflow_of: Callable[[str], Path]
) -> None:
    folder = tensorflow_of(build.OLDEST)
    env = environment(tmp_path, XDG_STATE_HOME=str(tmp_path / "state"))
    with opened(tmp_path, (140, 45), env=env) as terminal:
        terminal.see("ready, r measures", seconds=READY_S)
        terminal.press("H")
        terminal.see("Measure elsewhere", "tuilab installs and writes nothing")
        terminal.press(f"old={folder}\r")
        terminal.see("old is ready", seconds=READY_S)
        leave(terminal)
    with opened(tmp_path, (140, 45), env=env) as terminal:
        terminal.see("ready, r measures", seconds=READY_S)
        terminal.press("H")
        terminal.see("Measure elsewhere", str(folder)[:60])
        terminal.press("\r")
        terminal.see("old is ready", seconds=READY_S)
        terminal.press("r")
        # the answer and the plot include both environments
        terminal.see("in local,", "may be noise", "old CPU graph", "local CPU graph", seconds=300)
        leave(terminal)
