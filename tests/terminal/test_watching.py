"""Watching a user's program in a real terminal: screen, keys, exit code."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.terminal.lab import environment, opened, scripted
from tests.terminal.terminal import Terminal
from tests.watch.running import PROGRAMS

pytestmark = pytest.mark.terminal

LEFT = b"\x1b[?1049l"
ASKS = """
import sys, time
assert sys.stdin.isatty() and sys.stdout.isatty()
print("name?", flush=True)
print("hello", input(), flush=True)
try:
    while True:
        time.sleep(0.05)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(3)
"""
TRAINS = """
import time
import tensorflow as tf

@tf.function
def step(x):
    return tf.nn.relu(x @ x) * 1e-3

x = tf.random.normal((100, 100))
end = time.monotonic() + 90
while time.monotonic() < end:
    x = step(x)
"""


@contextmanager
def watching(folder: Path, text: str, size: tuple[int, int] = (120, 40)) -> Iterator[Terminal]:
    """Watch a program in a terminal. Its temporary files are in `folder`."""
    (folder / "train.py").write_text(text)
    env = environment(folder, TMPDIR=str(folder), TF_CPP_MIN_LOG_LEVEL="3")
    command = (sys.executable, "-m", "tuilab", "watch", "--", sys.executable, "train.py")
    with opened(folder, size, env=env, command=command) as terminal:
        yield terminal


def left(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(("tuilab-watch", "window"))]


def test_a_watched_program_takes_input_and_is_stopped(tmp_path: Path) -> None:
    with watching(tmp_path, ASKS, (80, 24)) as terminal:
        terminal.see("has not imported TensorFlow yet")
        terminal.press("7")
        terminal.see("name?")
        terminal.press("i")
        terminal.see("Type into the program")
        terminal.press("Ada\r")
        terminal.see("hello Ada")
        terminal.press("x")
        terminal.see("interrupted", "ended with exit code 3")
        terminal.press("q")
        assert terminal.ended(30) == 3
        assert "hello Ada" in terminal.last_words and "TensorFlow was not detected" in terminal.last_words
    assert left(tmp_path) == []


def test_a_program_continues_in_the_terminal_after_leaving_the_lab(tmp_path: Path) -> None:
    """The program reads the terminal's input, Ctrl-C works as usual, and the page is printed at the end."""
    with watching(tmp_path, ASKS) as terminal:
        terminal.see("name?")
        terminal.press("q")
        terminal.see("let the program continue")
        terminal.press("\r")
        terminal.until(lambda: LEFT in terminal.sent and "name?" in terminal.last_words)
        terminal.press("Eve\r")
        terminal.until(lambda: "hello Eve" in terminal.last_words)
        terminal.press("\x03")
        assert terminal.ended(30) == 3
        terminal.until(lambda: "TensorFlow was not detected" in terminal.last_words)
        assert "interrupted" in terminal.last_words
    assert left(tmp_path) == []


def test_a_program_opened_in_the_lab_keeps_the_terminal_after_it(tmp_path: Path) -> None:
    """The program reads the terminal's input, Ctrl-C works as usual, and the page is printed at the end."""
    (tmp_path / "train.py").write_text(ASKS)
    with scripted(tmp_path, size=(80, 24), TMPDIR=str(tmp_path)) as terminal:
        terminal.see("ready")
        terminal.press("o")
        terminal.see("completes")
        terminal.press("train.py\r")
        terminal.see("run and watch it")
        terminal.press("\r")
        terminal.see("has not imported TensorFlow yet")
        terminal.press("7")
        terminal.see("name?")
        terminal.press("\x11")  # Ctrl-Q
        terminal.see("let the program continue")
        terminal.press("\r")
        terminal.until(lambda: LEFT in terminal.sent and "name?" in terminal.last_words)
        terminal.press("Eve\r")
        terminal.until(lambda: "hello Eve" in terminal.last_words)
        terminal.press("\x03")
        assert terminal.ended(30) is not None
        assert "interrupted" in terminal.last_words and "TensorFlow was not detected" in terminal.last_words
    assert left(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_lab_ended_by_a_signal_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with watching(tmp_path, ASKS) as terminal:
        terminal.see("name?")
        children = psutil.Process(terminal.process.pid).children(recursive=True)
        terminal.signal(number)
        assert terminal.ended(30) == -number
        terminal.until(lambda: not left(tmp_path) and not any(c.is_running() for c in children), 10)


@pytest.mark.slow
def test_a_trained_programs_steps_are_seen_while_it_runs(tmp_path: Path) -> None:
    with watching(tmp_path, TRAINS) as terminal:
        terminal.see("• step")
        terminal.see("compute on CPU")
        terminal.press("6")
        terminal.see("Profiling took")
        terminal.press("3")
        terminal.see("MatMul", "train.py:7")
        terminal.press("q")
        terminal.see("let the program continue")
        terminal.press("\x1b[B\r")
        assert terminal.ended(60) == -signal.SIGINT
        assert "KeyboardInterrupt" in terminal.last_words
    assert left(tmp_path) == []


@pytest.mark.slow
def test_a_step_is_caught_by_a_key_and_measured_in_the_lab(tmp_path: Path) -> None:
    """Captures the training step of an unmodified Keras `fit`. The batch size becomes a slider."""
    text = (PROGRAMS / "good_fit_dataset.py").read_text().replace("epochs=2", "epochs=1000")
    with watching(tmp_path, text, (80, 24)) as terminal:
        terminal.see("Keras step takes")
        terminal.press("c")
        terminal.see(
            "Your program is still running", "multi_step_on_iterator", "ready, r measures", seconds=120
        )
        terminal.press("r")
        terminal.see("CPU graph takes", seconds=120)


@pytest.mark.slow
@pytest.mark.long
def test_a_fit_is_caught_by_a_key_and_measured_in_the_lab(tmp_path: Path) -> None:
    """The captured step includes the optimizer and a training batch of the program. The program continues."""
    text = """
import keras
import numpy as np

model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(4)])
model.compile("adam", "mse")
model.fit(np.ones((2400, 16), "float32"), np.ones((2400, 4), "float32"), batch_size=24, epochs=2000, verbose=0)
"""
    with watching(tmp_path, text) as terminal:
        terminal.see("a Keras step takes")
        terminal.press("c")
        terminal.see("will be captured at its next call")
        terminal.see("batch", "24", "ready, r measures", seconds=120)
        terminal.press("r")
        terminal.see("CPU graph takes", "done,", seconds=180)
