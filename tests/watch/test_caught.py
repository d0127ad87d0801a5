"""The real observer captures a step of a running program at the step's next call."""

import json
from pathlib import Path

import pytest

from tests.watch.running import zygote
from tuilab import observer
from tuilab.captured import MANIFEST
from tuilab.lab.watch import Watched, WatchOptions
from tuilab.model.program import Caught, Key, Told
from tuilab.program.account import CATCHING, account, by_kind
from tuilab.program.fold import Process
from tuilab.runner.watched import Listener

pytestmark = pytest.mark.real_worker

FIT = """
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf


class UntilCaught(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs):
        self.model.stop_training = Path(sys.argv[1]).exists()


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
model.compile("adam", "mse")
x, y = np.ones((240, 8), "float32"), np.ones((240, 4), "float32")
data = (DATA)
model.fit(*data, **FITTED, epochs=10_000, verbose=0, callbacks=[UntilCaught()])
"""


EAGER = """
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf


class Trainer:
    def __init__(self, size):
        self.w = tf.Variable(tf.ones((size, size)))

    def update(self, x, *, rate=0.1):
        scale = tf.constant(rate)

        def loss():
            return scale * tf.reduce_mean((x @ self.w) ** 2)

        with tf.GradientTape() as tape:
            found = loss()
        self.w.assign_sub(scale * tape.gradient(found, self.w))
        return found


class UntilCaught(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs):
        self.model.stop_training = Path(sys.argv[1]).exists()


def by_hand():
    trainer = Trainer(8)
    while not Path(sys.argv[1]).exists():
        trainer.update(tf.ones((24, 8)))
    assert trainer.w.shape == (8, 8)


def by_fit():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
    model.compile("adam", "mse", run_eagerly=True)
    x, y = np.ones((240, 8), "float32"), np.ones((240, 4), "float32")
    model.fit(x, y, batch_size=24, epochs=10_000, verbose=0, callbacks=[UntilCaught()])


WAY()
"""


@pytest.mark.parametrize(
    ("way", "name", "arguments"),
    [("by_hand", "update", ["x"]), ("by_fit", "train_step", ["data_0", "data_1"])],
)
def test_a_step_that_runs_op_by_op_is_captured_as_a_graph(
    tmp_path: Path, way: str, name: str, arguments: list[str]
) -> None:
    """Covers a method that contains the gradient tape, and Keras's own step under run_eagerly."""
    told, folder, _ = caught(tmp_path, EAGER.replace("WAY", way))
    assert [each.problem for each in told] == [""] and isinstance(told[0].number, tuple)
    manifest = json.loads((folder / MANIFEST).read_text())
    assert (manifest["batch"], manifest["name"], manifest["arguments"]) == (24, name, arguments)


@pytest.mark.parametrize(
    ("data", "fitted"),
    [
        ("x, y", "dict(batch_size=24)"),
        ("tf.data.Dataset.from_tensor_slices((x, y)).batch(24).prefetch(1),", "{}"),
    ],
    ids=["arrays", "dataset"],
)
def test_a_fit_is_captured_with_its_training_batch(tmp_path: Path, data: str, fitted: str) -> None:
    """Saving the step traces it once more; neither is the program's work."""
    told, folder, process = caught(tmp_path, FIT.replace("DATA", data).replace("FITTED", fitted))
    assert [each.problem for each in told] == [""]
    manifest = json.loads((folder / MANIFEST).read_text())
    assert (manifest["batch"], manifest["arguments"]) == (24, ["x", "y"])
    assert {number: len(traces) for number, traces in process.traces.items()} == {told[0].number: 1}
    rows = account(process, process.lasted_s)
    assert "saving" not in {row.kind for row in rows} and CATCHING in by_kind(rows)


def caught(tmp_path: Path, text: str) -> tuple[list[Caught], Path, Process]:
    file, folder = tmp_path / "train.py", tmp_path / "step"
    file.write_text(text)
    program, told = Watched((str(file),)), list[Caught]()

    def take(number: int, message: Told, window: Path | None) -> None:
        program.take(number, message, window)
        if isinstance(message, Caught):
            told.append(message)
        process = program.processes[number]
        if process.step is not None and not asked:
            asked.append(process.step)
            words = {"catch": process.step, "folder": str(folder), "captured": str(observer.CAPTURE)}
            assert listener.ask(number, **words)

    asked: list[Key] = []
    listener = Listener(take)
    try:
        telling = {
            observer.ADDRESS: str(listener.address),
            observer.OPTIONS: WatchOptions(every=1.0, window=0.3).words(),
        }
        assert zygote().run([str(file), str(folder / MANIFEST)], telling, tmp_path / "output") == 0
        listener.close(5.0)
    finally:
        listener.remove()
    return told, folder, next(iter(program.processes.values()))
