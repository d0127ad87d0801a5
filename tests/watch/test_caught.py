"""A step captured in a running program by the real observer: written at its next call, opened at its own
batch.
"""

import json
from pathlib import Path

import pytest

from tests.watch.running import zygote
from tuilab import observer
from tuilab.captured import MANIFEST
from tuilab.lab.watch import Watched, WatchOptions
from tuilab.model.program import Caught, Told
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


@pytest.mark.parametrize(
    ("data", "fitted"),
    [
        ("x, y", "dict(batch_size=24)"),
        ("tf.data.Dataset.from_tensor_slices((x, y)).batch(24).prefetch(1),", "{}"),
    ],
    ids=["arrays", "dataset"],
)
def test_a_fit_is_captured_with_its_training_batch(tmp_path: Path, data: str, fitted: str) -> None:
    file, folder = tmp_path / "train.py", tmp_path / "step"
    file.write_text(FIT.replace("DATA", data).replace("FITTED", fitted))
    program, told = Watched((str(file),)), list[Caught]()

    def take(number: int, message: Told, window: Path | None) -> None:
        program.take(number, message, window)
        if isinstance(message, Caught):
            told.append(message)
        process = program.processes[number]
        if isinstance(process.step, int) and process.step in process.functions and not asked:
            asked.append(process.step)
            words = {"catch": process.step, "folder": str(folder), "captured": str(observer.CAPTURE)}
            assert listener.ask(number, **words)

    asked: list[int] = []
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
    assert [each.problem for each in told] == [""]
    manifest = json.loads((folder / MANIFEST).read_text())
    assert (manifest["batch"], manifest["arguments"]) == (24, ["x", "y"])
