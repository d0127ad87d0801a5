"""What a screen shows of a program while it runs."""

import sys
import threading
from pathlib import Path

import pytest

from tuilab.lab.watch import Watching, WatchOptions

STEP_S, SHOWN_S = 0.05, 2.0
STEPS = f"""
import time
import tensorflow as tf

step = tf.function(lambda x: x * 0.5)
x = tf.ones((4, 4))
for _ in range(100):
    x = step(x)
    time.sleep({STEP_S})
"""


@pytest.mark.long
@pytest.mark.slow
def test_the_first_step_and_its_device_activity_are_shown_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program's own steps are the clock: 50 ms each, and at most forty have passed (two seconds)."""
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    file = tmp_path / "train.py"
    file.write_text(STEPS)
    watching, shown, over = (
        Watching([sys.executable, str(file)], WatchOptions()),
        list[int](),
        threading.Event(),
    )

    def changed() -> None:
        if watching.page.steps.n:
            shown.append(watching.page.steps.n)
        if not watching.running and watching.page.exit_code is not None:
            over.set()

    watching.changed = changed
    watching.start((80, 24))
    assert over.wait(120)
    assert shown[0] <= SHOWN_S / STEP_S
    loads = {load.device: load for load in watching.page.loads}
    program, cpu = loads["program"], loads["CPU"]
    assert program.n >= 3 and program.use is not None and program.memory is not None
    assert cpu.use is not None and 0 <= cpu.use <= 1
    assert cpu.memory is not None and cpu.memory_total is not None
    assert program.memory < cpu.memory_total and cpu.memory <= cpu.memory_total
