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

@tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32), tf.TensorSpec([64, 32], tf.float32)])
def project(x, w):
    return tf.nn.relu(tf.matmul(x, w))

def product(side: int = 64):
    a, b = tf.random.normal((side, side)), tf.random.normal((side, side))
    return tf.matmul, a, b

def suppress(batch: int = 2, boxes: int = 256):
    corner = tf.random.uniform((batch, boxes, 2))
    found = tf.concat([corner, corner + 0.2], -1)[:, :, None]
    scores = tf.random.uniform((batch, boxes, 5))
    return (lambda b, s: tf.image.combined_non_max_suppression(b, s, 50, 50, 0.5, 0.6)), (found, scores)
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
        "a and b have no known shape; pass --input a=" in refused.stderr
        and "tuilab.capture(loss" in refused.stderr
    )
    assert len(refused.stderr.strip().splitlines()) == 1, "one sentence"
    done = calling.run(own, "run", place, *SHAPES, "--set", "batch=8", *QUICK)
    assert done.returncode == 0, done.stderr
    scenario = json.loads(done.stdout)["scenario"]
    assert scenario["parameters"] == {"batch": 8}
    assert [each["name"] for each in scenario["opening"]["inputs"]] == ["a", "b"]


def test_a_signature_gives_the_shapes_and_none_is_a_slider(own):
    done = calling.run(own, "run", f"{own}/own.py:project", "--set", "batch=8", *QUICK)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["scenario"]["parameters"] == {"batch": 8}
    assert "MatMul" in {row["op"] for row in result["placement"]}


def test_a_callable_before_its_inputs_is_what_is_measured(own):
    done = calling.run(own, "run", f"{own}/own.py:product", *QUICK)
    assert done.returncode == 0, done.stderr
    ops = {row["op"] for row in json.loads(done.stdout)["placement"] if row["kind"] == "op"}
    assert "MatMul" in ops and not any(op.startswith("Random") for op in ops)


def test_a_call_without_a_gpu_kernel_gets_no_ceiling(own):
    done = calling.run(
        own,
        "run",
        f"{own}/own.py:suppress",
        "--against",
        "h100",
        "--budget",
        "quick",
        "--mode",
        "graph",
        "-q",
    )
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "the ops of a call (CombinedNonMaxSuppression) run on the CPU, without a GPU kernel" in text
    assert "h100 could be" not in text.lower()
    explained = calling.run(own, "explain", f"{own}/own.py:suppress", "-q")
    assert "no GPU kernel" in explained.stdout


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
        (("stft-small", "--input", "a=float32[2]"), "for a preset, use --set"),
        (("own.py:loss", "--input", "a=float32[2"), "expected a shape such as float32[batch=32,64]"),
        (("own.py:loss", "--input", "elsewhere"), "'resident', 'copied' or a shape"),
    ],
)
def test_a_wrong_input_is_refused_before_a_worker_starts(own, monkeypatch, words, says):
    monkeypatch.chdir(own)
    done = calling.here("run", *words)
    assert done.returncode == 2 and says in " ".join(done.stderr.split())
