"""User code that does not compute what it claims is reported; correct code is not."""

import pytest

from tests.workloads.test_own import run
from tuilab.analysis.answer import answer
from tuilab.analysis.reading import launches, op_counts
from tuilab.model.arms import ArmSelection

pytestmark = pytest.mark.real_worker

FILE = """
import random
import time
import numpy as np
import tensorflow as tf

X = tf.random.normal((64, 64))
HELD = tf.matmul(X, X)
KEPT = {}
GROWN = []
SUM = tf.Variable(tf.zeros((64, 64)))

# -- what does not compute what it says ------------------------------------------------------------------

def folded(n: int = 64):
    return lambda: tf.matmul(tf.ones((n, n)), tf.ones((n, n)))

def folded_late(n: int = 512):
    # What lies between is too large for the first folding; the runtime folds again, after the reported graph.
    return lambda: tf.reduce_sum(tf.nn.softmax(tf.ones((n, 64)) @ tf.ones((64, n))) @ tf.ones((n, 64)))

def dead(n: int = 64):
    def step(x):
        tf.matmul(tf.matmul(x, x), x)
        return x + 1.0
    return step, tf.ones((n, n))

def retraced(n: int = 64):
    @tf.function
    def inner(x, scale):
        return x * scale
    def step(x):
        return inner(x, time.perf_counter())
    return step, tf.ones((n, n))

def cached(n: int = 64):
    def step():
        if "y" not in KEPT:
            KEPT["y"] = tf.matmul(X, X)
        return KEPT["y"]
    return step

def lazily_built(n: int = 64):
    layers = []
    def step(x):
        if not layers:
            layers.append(tf.keras.layers.Dense(32))
        return layers[0](x)
    return step, tf.ones((n, n))

def numpy_inside(n: int = 32):
    values = np.ones((n, n), np.float32)
    return lambda: np.linalg.svd(values)[1]

def growing(n: int = 64):
    grown = [tf.zeros((1, n))]
    def step():
        grown[0] = tf.concat([grown[0], tf.zeros((1, n))], 0)
        return grown[0] * 2.0
    return step

def printing(n: int = 64):
    def step(x):
        print("a line")
        return tf.matmul(x, x)
    return step, tf.ones((n, n))

def seeded(n: int = 64):
    def step(x):
        tf.random.set_seed(1)
        return x + tf.random.normal((n, n))
    return step, tf.ones((n, n))

def empty_scope(n: int = 64):
    def step():
        with tf.device("/CPU:0"):
            return HELD
    return step

def framed(n: int = 64):
    return (lambda x: tf.signal.stft(x, 512, 256)), tf.random.normal((n,))

def unchosen(n: int = 64):
    return (lambda x: tf.where(False, tf.matmul(x, x), x + 1.0)), tf.ones((n, n))

def repeated(n: int = 64):
    return (lambda x: tf.add_n([tf.matmul(x, x) for _ in range(24)])), tf.ones((n, n))

def fitted(n: int = 64):
    model = tf.keras.Sequential([tf.keras.Input((n,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((n, n), np.float32), np.ones((n, 1), np.float32)
    return lambda: model.fit(x, y, verbose=0)

# -- honest ----------------------------------------------------------------------------------------------

def product(n: int = 64):
    return tf.matmul, (tf.ones((n, n)), tf.ones((n, n)))

def spectrum(n: int = 2048):
    return (lambda x: tf.signal.stft(x, 256, 128)), tf.ones((n,))

def dense(n: int = 64):
    return tf.keras.Sequential([tf.keras.Input((n,)), tf.keras.layers.Dense(n, activation="relu")])

def random_numbers(n: int = 64):
    return lambda: tf.random.normal((n, n))

def gradient(n: int = 64):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(tf.matmul(x, x)))
        return tape.gradient(y, x)
    return step, tf.ones((n, n))

def update(n: int = 64):
    def step(x):
        SUM.assign(0.5 * SUM + x)
        return tf.reduce_sum(SUM)
    return step, tf.ones((64, 64))

def loop(n: int = 64):
    def step(x):
        return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.matmul(y, x) / 64.0), (0, x))[1]
    return step, tf.ones((n, n))

def masked(n: int = 64):
    def step(x):
        mask = tf.linalg.band_part(tf.ones((n, n)), -1, 0)
        return tf.nn.softmax(tf.matmul(x, x, transpose_b=True) * mask)
    return step, tf.ones((n, n))

def decorated(n: int = 64):
    @tf.function
    def inner(x):
        return tf.linalg.cholesky(tf.matmul(x, x, transpose_b=True) + 1e3 * tf.eye(n))
    return inner, tf.ones((n, n))

def recurrent(n: int = 16):
    layer, x = tf.keras.layers.LSTM(n), tf.ones((8, 40, n))
    layer(x)
    return (lambda given: layer(given)), x

def histogram(n: int = 20_000):
    classes = tf.random.uniform((n,), maxval=256, dtype=tf.int32)
    return (lambda c: tf.math.unsorted_segment_sum(tf.ones_like(c), c, 256)), classes

def moving_maximum(n: int = 16_384):
    return (lambda x: tf.nn.max_pool1d(x[:, :, None], 31, 1, "SAME")[:, :, 0]), tf.random.normal((1, n))

def sorting(n: int = 4096):
    return (lambda x: tf.cumsum(tf.sort(tf.reverse(x, [0])))), tf.range(n, dtype=tf.float32)
"""

GONE = "does-not-compute"
GUILTY = {
    "folded": ("graph", GONE, "during tracing"),
    "folded_late": ("graph", GONE, "during tracing"),
    "dead": ("graph", GONE, "nothing uses the result"),
    "retraced": ("eager", "retraced", "retraced in each call: inner"),
    "cached": ("eager", GONE, "returns an earlier result"),
    "lazily_built": ("eager", "built-late", "2 variables in its first call"),
    "numpy_inside": ("eager", GONE, "NumPy or Python does"),
    "growing": ("eager", "grows", "grows from call to call"),
    "printing": ("graph", "prints-once", "printed once, during tracing"),
    "seeded": ("eager", "seed-fixed", "sets a random seed in each call"),
    "empty_scope": ("eager", GONE, "returns an earlier result"),
    "framed": ("eager", "empty-result", "its result is empty, of shape [0, 257]"),
    "unchosen": ("xla", GONE, "not in XLA's program"),
}
HONEST = (
    "product", "spectrum", "dense", "random_numbers", "gradient", "update", "loop", "masked", "decorated",
    "sorting", "recurrent", "histogram", "moving_maximum",
)  # fmt: skip
ACCUSATIONS = {
    GONE, "retraced", "built-late", "builds-anew", "numpy-inside", "python-result", "grows", "prints", "prints-once",
    "seed-fixed", "drawn-once", "empty-result",
}  # fmt: skip


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    file = tmp_path_factory.mktemp("own") / "own_validity.py"
    file.write_text(FILE)
    return file


def accused(state, mode):
    found = {}
    for arm in state.arms.values():
        if arm.arm.mode == mode and arm.arm.device == "CPU:0":
            assert arm.status == "ok", f"{arm.label}: {arm.reason}\n{arm.detail}"
            found |= {flag.code: flag.message for flag in arm.flags if flag.code in ACCUSATIONS}
    return found


@pytest.mark.parametrize("name", GUILTY)
def test_code_that_does_not_compute_its_result_is_named(worker, own, name):
    mode, code, words = GUILTY[name]
    modes = (mode,) if name != "folded" else ("eager", "graph", "xla")
    state = run(worker, f"{own}:{name}", ArmSelection(devices=("CPU:0",), modes=modes))
    found = accused(state, mode)
    assert code in found, found
    assert words in found[code]
    if code == GONE:
        from tuilab.analysis.reading import measured

        assert all(arm.arm.mode != mode for arm in measured(state, 0))
    if name == "folded":
        assert not accused(state, "eager") and GONE in accused(state, "xla")
        from tuilab.analysis.summary import summarise

        assert "not do the requested work" in summarise(state).answer


def test_repeated_work_that_a_graph_merges_is_reported(worker, own):
    state = run(worker, f"{own}:repeated")
    for mode in ("graph", "xla"):
        (arm,) = (a for a in state.arms.values() if a.arm.mode == mode and a.arm.device == "CPU:0")
        told = {flag.code: flag.message for flag in arm.flags}
        assert GONE not in told, told
        assert told["merged"] == "23 of the 24 MatMul ops duplicate others and are merged"
    assert "23 of the 24 MatMul ops duplicate others and are merged." in answer(state)
    assert not accused(state, "eager")


def test_a_fit_is_measured_eagerly_and_refused_as_a_graph_with_advice(worker, own):
    state = run(worker, f"{own}:fitted", ArmSelection(devices=("CPU:0",)))
    eager, *others = state.arms.values()
    assert [arm.arm.mode for arm in (eager, *others)] == ["eager", "graph", "xla"]
    told = {flag.code: flag.message for flag in eager.flags}
    assert eager.status == "ok" and "retraced" not in told, told
    assert told["pipeline-anew"] == "it creates a tf.data pipeline in each call; the time includes this"
    for arm in others:
        assert arm.status == "unavailable" and arm.reason.startswith("model.fit is a loop"), arm.reason
        assert arm.reason.endswith("return `lambda: model.train_on_batch(x, y)`")
    said = answer(state)
    assert said.startswith("CPU eager takes ") and "return `lambda: model.train_on_batch(x, y)`." in said


def test_ops_of_loops_count_as_often_as_they_run(worker, own):
    state = run(worker, f"{own}:loop", ArmSelection(devices=("CPU:0",), modes=("graph",)))
    (arm,) = state.arms.values()
    counts = op_counts(arm, 0)
    assert counts["MatMul"] == 5, counts
    assert not {"Enter", "Exit", "Merge", "Switch", "NextIteration"} & set(counts)
    assert launches(arm, 0) == f"{sum(counts.values())} ops"


@pytest.mark.parametrize("name", HONEST)
def test_correct_code_raises_no_suspicion(worker, own, name):
    state = run(worker, f"{own}:{name}")
    for mode in ("eager", "graph", "xla"):
        if mode == "xla" and any(a.arm.mode == "xla" and a.status != "ok" for a in state.arms.values()):
            continue
        assert not accused(state, mode), mode
