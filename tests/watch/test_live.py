import socket
import sys
import threading
from pathlib import Path

import pytest

from tuilab.lab.watch import Watching, WatchOptions
from tuilab.model.program import Steps, Told
from tuilab.runner.watched import Listener

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
    """The program's own steps of 50 ms each serve as the clock. The test allows at most forty steps (two
    seconds).
    """
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


@pytest.mark.smoke
def test_a_page_that_fails_does_not_end_the_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))

    def fails(*_: object, **__: object) -> None:
        raise ValueError("[bold]no rows")

    file = tmp_path / "train.py"
    file.write_text("raise SystemExit(3)")
    watching = Watching([sys.executable, str(file)], WatchOptions())
    monkeypatch.setattr("tuilab.lab.watch.page_of", fails)
    watching.start((80, 24))
    assert watching.wait(60) and watching.exit_code == 3
    assert [
        note
        for note in watching.page.notes
        if "the page could not be updated: ValueError: [bold]no rows" in note
    ]


def test_what_short_processes_sent_is_handled_although_the_listener_closes() -> None:
    """The listener accepts pending connections before it closes."""
    for _ in range(20):
        taken: list[int] = []
        listener = Listener(lambda number, _message, _file, taken=taken: taken.append(number))  # type: ignore[misc]
        for _ in range(8):
            with socket.socket(socket.AF_UNIX) as observer:
                observer.connect(str(listener.address))
                body = b'{"kind":"end","now":2.0}'
                observer.sendall(len(body).to_bytes(4, "big") + bytes(4) + body)
        listener.close(5.0)
        listener.remove()
        assert sorted(taken) == list(range(1, 9))


def test_a_message_that_fails_does_not_end_the_listener() -> None:
    taken: list[str] = []

    def take(number: int, message: Told, file: Path | None) -> None:
        taken.append(type(message).__name__)
        if isinstance(message, Steps):
            raise KeyError(number)

    listener = Listener(take)
    with socket.socket(socket.AF_UNIX) as observer:
        observer.connect(str(listener.address))
        for body in (b'{"kind":"steps","now":1.0}', b'{"kind":"end","now":2.0}'):
            observer.sendall(len(body).to_bytes(4, "big") + bytes(4) + body)
    listener.close(5.0)
    listener.remove()
    assert taken == ["Steps", "End"] and "KeyError" in " ".join(listener.faults)
