"""A user tries the change that a finding advises, from the screen of a running program."""

from pathlib import Path

import pytest

from tests.terminal.lab import COMMAND, environment, opened

EAGER = """
import tensorflow as tf

w = [tf.Variable(tf.random.normal((32, 32)) * 0.1) for _ in range(8)]


def update(x):
    with tf.GradientTape() as tape:
        h = x
        for each in w:
            h = tf.nn.tanh(h @ each)
        loss = tf.reduce_mean(h**2)
    for each, gradient in zip(w, tape.gradient(loss, w)):
        each.assign_sub(0.1 * gradient)
    return loss


x = tf.random.normal((16, 32))
while True:
    update(x)
"""


@pytest.mark.terminal
@pytest.mark.slow
def test_enter_on_a_finding_measures_its_change_on_the_caught_step(tmp_path: Path) -> None:
    """The step runs op by op. The time of its graph is measured while the program continues."""
    (tmp_path / "train.py").write_text(EAGER)
    env = environment(tmp_path, TF_CPP_MIN_LOG_LEVEL="3")
    with opened(tmp_path, (160, 50), "watch", "train.py", env=env, command=COMMAND) as terminal:
        terminal.see("eager-step", "train.py:8", seconds=120)
        terminal.press("\r")
        # The program's gain is known only after a profiler window, which may open after the trial.
        terminal.see("for the step, ", "for the program: the step as a graph", seconds=240)
        terminal.press("A")
        terminal.see("measured: ", "; the results ", seconds=60)
        terminal.press("A")
        terminal.press("x")
        terminal.see("ended", seconds=60)
        terminal.press("q")
        assert terminal.ended(60) is not None
