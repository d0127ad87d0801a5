import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Worker, fold
from tests.emulated_gpu.runs import SHORT
from tests.worker.test_models import declare
from tuilab.analysis.summary import summarise
from tuilab.model.arms import Arm
from tuilab.model.parameters import check_values
from tuilab.model.requests import Measure
from tuilab.model.result import RunResult
from tuilab.model.scenario import Scenario

pytestmark = [pytest.mark.real_worker, pytest.mark.timeout(600)]

MEMORY = 192 * 2**20

MODELS = """
import keras
from keras import layers

def wide():
    given = keras.Input((16_384,))
    return keras.Model(given, layers.Dense(4)(layers.ReLU()(given)))

def deep():
    x = given = keras.Input((4_096,))
    for _ in range(8):
        x = layers.Activation("tanh")(x)
    return keras.Model(given, layers.Dense(1)(x))

def heavy():
    given = keras.Input((2_048,))
    return keras.Model(given, layers.Dense(2_048, activation="relu")(layers.ReLU()(given)))

def tall():
    given = keras.Input((64, 64, 4))
    return keras.Model(given, layers.Conv2D(8, 3, padding="same")(given))

def twice():
    given = keras.Input((8_192,))
    return keras.Model(given, layers.Concatenate()([layers.ReLU()(given), given]))

def small():
    given = keras.Input((8,))
    return keras.Model(given, layers.Dense(4)(given))
"""
"""Models whose layers need much memory (except `small`). The weights of `heavy` also need much memory."""

TRUTH = (
    MODELS
    + """
import json, sys
import numpy as np, tensorflow as tf
model = globals()[sys.argv[1]]()
training, around = sys.argv[2] == "training", int(sys.argv[3])
optimizer = keras.optimizers.Adam()

def fits(batch):
    x = np.zeros((batch, *model.inputs[0].shape[1:]), "float32")
    y = np.zeros((batch, *model.outputs[0].shape[1:]), "float32")
    try:
        with tf.device("/GPU:0"):
            if training:
                given, wanted = tf.constant(x), tf.constant(y)
                @tf.function
                def step(given, wanted):
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_mean(tf.square(model(given, training=True) - wanted))
                    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
                    return loss
            else:
                given, wanted = tf.constant(x), None
                step = tf.function(lambda given, wanted: model(given, training=False))
            for _ in range(2):
                step(given, wanted)
            tf.test.experimental.sync_devices()
        return True
    except (tf.errors.ResourceExhaustedError, tf.errors.InternalError):  # the latter for a copy from the host
        return False

fits(8)  # creates the optimizer's variables, which would divide the memory if a large tensor came first
low, high = around * 3 // 4, around * 4 // 3
while high - low > low // 25:
    middle = (low + high + 1) // 2
    low, high = (middle, high) if fits(middle) else (low, middle - 1)
print(json.dumps(low))
"""
)


@pytest.fixture(scope="module")
def small_gpu(emulated_gpu: Callable[..., dict[str, str]]) -> dict[str, str]:
    return emulated_gpu(1, memory=MEMORY, kernel_us=1, asynchronous=False)


@pytest.fixture(scope="module")
def worker(small_gpu: dict[str, str]) -> Iterator[Worker]:
    worker = Worker(cpus=1, environment=small_gpu)
    yield worker
    worker.close()


def alone(environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", *words], env={**os.environ, **environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def run(worker: Worker, file: Path, *variants: str) -> RunResult:
    declaration = declare(worker, file).declaration
    values = check_values(declaration.parameters, declaration.constraints, {})
    request = Measure(
        id=uuid.uuid4().hex, scenario=Scenario(declaration.name, values, str(file)), budget=SHORT, phases=False,
        arms=tuple(Arm("GPU:0", "graph", "resident", "float32", variant) for variant in variants),
    )  # fmt: skip
    return summarise(fold(worker.measure(request)))


INFERENCE, TRAINING = "inference", "training"


@pytest.mark.parametrize(
    ("name", "variants"),
    [
        ("wide", (INFERENCE,)),
        pytest.param("wide", (TRAINING,), marks=pytest.mark.long),
        pytest.param("deep", (INFERENCE, TRAINING), marks=pytest.mark.long),
        pytest.param("tall", (INFERENCE, TRAINING), marks=pytest.mark.long),
        pytest.param("twice", (INFERENCE,), marks=pytest.mark.long),  # this model has nothing to train
        pytest.param("heavy", (INFERENCE,), marks=pytest.mark.long),
    ],
)
def test_the_largest_batch_follows_from_the_device_memory(
    worker: Worker, small_gpu: dict[str, str], tmp_path: Path, name: str, variants: tuple[str, ...]
) -> None:
    file = tmp_path / f"{name}.keras"
    alone({}, f"{MODELS}\n{name}().save({str(file)!r})")
    result = run(worker, file, *variants)
    assert result.model is not None and result.batch is not None
    found = {fit.variant: fit for fit in result.model.fits_on}
    for variant in variants:
        truth = json.loads(alone(small_gpu, TRUTH, name, variant, str(found[variant].batch)))
        print(f"{name}, {variant}: {found[variant].batch:,} reported, {truth:,} fit")
        assert found[variant].batch == pytest.approx(truth, rel=0.1)
        assert found[variant].ended_by == "memory"
    assert "fit into the " in result.batch.sentence


def test_the_memory_sets_the_maximum_of_the_slider(worker: Worker, tmp_path: Path) -> None:
    file = tmp_path / "small.keras"
    alone({}, f"{MODELS}\nsmall().save({str(file)!r})")
    result = run(worker, file, "inference")
    assert result.model is not None and result.batch is not None
    [fit] = result.model.fits_on
    assert fit.ended_by == "maximum" and "the largest batch on the slider" in result.batch.sentence
