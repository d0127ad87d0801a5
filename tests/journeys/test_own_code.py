"""A user's own function and model are opened by name, and measured or rejected."""

import json

import pytest

from tests.journeys.user import User

pytestmark = pytest.mark.timeout(300)
FUNCTIONS = """
import tensorflow as tf


@tf.function
def step(n=256):
    x = tf.random.normal((n, n))
    return tf.reduce_sum(tf.matmul(x, x))


@tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32), tf.TensorSpec([64, 32], tf.float32)])
def project(x, w):
    return tf.nn.relu(tf.matmul(x, w))


def plain(a, b):
    return tf.linalg.matvec(a, b)
"""
MODEL = """
import keras
import tensorflow as tf
import tuilab

net = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(3)])
net.compile("adam", "mse")
net.save("MODEL.keras")
weights = tf.Variable(tf.ones((32, 4)))


@tf.function
def step(x):
    return x @ weights


tuilab.capture(step, tf.ones((8, 32)), folder="step")


class Writes(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def serve(self, x):
        tf.io.write_file("written", "by a model")
        return x


tf.saved_model.save(Writes(), "stranger")
"""


def measured(out: str) -> list[dict]:
    return [arm for arm in json.loads(out)["arms"] if arm["status"] == "ok" and arm["median_s"] > 0]


def test_a_starter_file_runs_as_it_is(user: User) -> None:
    user.run("tuilab new mine")
    assert measured(user.run("tuilab run mine.py:mine --budget quick --json").out)


def test_a_decorated_function_is_measured(user: User) -> None:
    """Measures a `tf.function`, with and without a signature. A message asks for missing shapes."""
    user.write("mine.py", FUNCTIONS)
    found = user.run("tuilab run mine.py:step --budget quick --set n=64 --json")
    assert measured(found.out) and json.loads(found.out)["scenario"]["parameters"]["n"] == 64
    assert measured(user.run("tuilab run mine.py:project --budget quick --json").out)
    refused = user.run("tuilab run mine.py:plain --budget quick", code=2)
    assert "shape" in refused.err or "[" in refused.err
    wrong = user.run("tuilab run mine.py:nothing --budget quick", code=2)
    assert "nothing" in wrong.err and "step" in wrong.err


@pytest.mark.long
def test_a_model_and_a_captured_step_are_measured(user: User) -> None:
    """A model that would write files is rejected and writes nothing."""
    user.write("model.py", MODEL)
    user.run("python model.py", own_traceback=True)
    done = json.loads(
        user.run("tuilab run MODEL.keras --budget quick --set batch=8 --variant inference --json").out
    )
    assert done["scenario"]["parameters"]["batch"] == 8 and measured(json.dumps(done))
    user.begins_and_stops("tuilab run step")
    refused = user.run("tuilab run stranger --budget quick", code=2)
    assert "WriteFile" in refused.err and "--trust" in refused.err
    assert not (user.home / "written").exists()
