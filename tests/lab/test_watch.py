"""What the lab does for a watched program."""

import os
import time

import pytest

from tuilab.lab.watch import Watched
from tuilab.model.program import Function, Hello, Steps
from tuilab.program.fold import Process


def test_devices_are_looked_at_once_a_second_beside_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    program, now = Watched(("python", "train.py")), 100.0
    program.processes[0] = process = Process()
    process.apply(Hello(pid=os.getpid(), parent=1))
    process.apply(Function(number=0, name="step"))
    process.apply(Steps(now=1.0, calls=tuple((0, at / 10, at / 10 + 0.05, False) for at in range(10))))
    assert process.kind
    monkeypatch.setattr(time, "monotonic", lambda: now)
    for _ in range(4 * 10 + 1):
        program.sample()
        now += 0.25
    # The first one has no rates.
    assert {row.n for row in program.loads.rows()} == {10}
