"""`tuilab` with a decorated function, as a user types it: real commands with real workers."""

import json

import pytest

from tests import calling

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]

FILE = """
import tensorflow as tf

@tf.function
def square(n=64):
    x = tf.random.normal((n, n))
    return tf.reduce_sum(tf.matmul(x, x))

@tf.function(jit_compile=True)
def loss(a, b):
    return tf.reduce_mean(tf.square(a - b))
"""
QUICK = ("--budget", "quick", "--mode", "graph", "--json", "-q")
SHAPES = ("--input", "a=float32[batch=32,64]", "--input", "b=float32[batch,64]")


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.py").write_text(FILE)
    return tmp_path


def test_a_decorated_function_runs_unchanged(own):
    done = calling.run(own, "run", f"{own}/own.py:square", *QUICK)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["scenario"]["parameters"] == {"n": 64}
    assert result["arms"][0]["status"] == "ok"


def test_missing_shapes_are_requested_and_read_from_the_command_line(own):
    place = f"{own}/own.py:loss"
    refused = calling.run(own, "run", place, *QUICK)
    assert refused.returncode == 2 and not refused.stdout
    assert (
        "a and b have no known shape; give --input a=" in refused.stderr
        and "tuilab.capture(loss" in refused.stderr
    )
    assert len(refused.stderr.strip().splitlines()) == 1, "one sentence"
    done = calling.run(own, "run", place, *SHAPES, "--set", "batch=8", *QUICK)
    assert done.returncode == 0, done.stderr
    scenario = json.loads(done.stdout)["scenario"]
    assert scenario["parameters"] == {"batch": 8}
    assert [each["name"] for each in scenario["opening"]["inputs"]] == ["a", "b"]


@pytest.mark.parametrize("command", ["sweep", "explain", "profile"])
def test_other_commands_take_shapes_too(own, command):
    more = {"sweep": ("--axis", "batch=4,8", *QUICK[:4]), "explain": (), "profile": ("--mode", "graph")}[
        command
    ]
    done = calling.run(own, command, f"{own}/own.py:loss", *SHAPES, *more, "-q")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("stft-small", "--input", "a=float32[2]"), "--set changes the sizes"),
        (("own.py:loss", "--input", "a=float32[2"), "expected a shape as in float32[batch=32,64]"),
        (("own.py:loss", "--input", "elsewhere"), "'resident', 'copied' or a shape"),
    ],
)
def test_a_wrong_input_is_refused_before_a_worker_starts(own, monkeypatch, words, says):
    monkeypatch.chdir(own)
    done = calling.here("run", *words)
    assert done.returncode == 2 and says in " ".join(done.stderr.split())
