"""Properties of the emulated device on which other tests rely."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.emulated_gpu.runs import repeat

pytestmark = pytest.mark.real_worker
Environment = Callable[..., dict[str, str]]

PROGRAM = """
import json, time
import numpy as np
import tensorflow as tf
out = {"devices": [d.name for d in tf.config.list_logical_devices("GPU")],
       "named": tf.config.experimental.get_device_details(tf.config.list_physical_devices("GPU")[0])["device_name"]}
sync = tf.test.experimental.sync_devices
with tf.device("/GPU:0"):
    a = tf.random.uniform((64, 64), seed=1)
    b = tf.matmul(a, a)
    out["matmul"] = [b.device[-5:], b.backing_device[-5:], bool(np.allclose(b, a.numpy() @ a.numpy(), atol=1e-3))]
    sparse = tf.sparse.SparseTensor([[0, 1], [2, 0]], tf.constant([2.0, 3.0]), (3, 3))
    found = [tf.sparse.sparse_dense_matmul(sparse, tf.eye(3)), tf.sparse.to_dense(sparse)]
    found += [tf.sparse.segment_sum(tf.ones((4, 2)), tf.constant(rows), tf.constant(ids))
              for rows, ids in (([0, 1, 2], [0, 0, 1]), ([0, 1, 2], [0, 1, 2]))]
    found.append(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.constant([1, 0]), tf.zeros((2, 5))))
    out["sparse"] = [{t.backing_device[-5:] for t in found} == {"GPU:0"}, [t.numpy().sum().item() for t in found],
                     [len(t) for t in found]]
    out["on_host"] = {n: t.backing_device[-5:] for n, t in {
        "shape": tf.shape(a), "stack": tf.stack([tf.constant(1), tf.constant(2)]), "range": tf.range(3), "unique": tf.unique(tf.constant([1.0]))[1]}.items()}
    counted = tf.constant([1, 2, 3]) + 1
    out["int32"] = [counted.device[-5:], counted.backing_device[-5:]]
    f = tf.function(lambda x: tf.reduce_sum(tf.nn.relu(x @ x + 1.0), axis=0))
    out["graph"] = bool(np.allclose(f(a), np.maximum(a.numpy() @ a.numpy() + 1, 0).sum(0), rtol=1e-3))
    x = tf.random.uniform((1, 16, 16, 4)); w = tf.ones((3, 3, 4, 4))
    out["conv"] = tf.nn.conv2d(x, w, 1, "SAME").backing_device[-5:]
    out["stft"] = tf.signal.stft(tf.random.uniform((4096,)), 256, 128).backing_device[-5:]
    v = tf.Variable(tf.ones((4,))); v.assign_add(tf.ones((4,)))
    out["variable"] = v.numpy().tolist()
    b = a @ a; sync(); begun = time.perf_counter()
    for _ in range(20):
        b = a @ a
    out["enqueued_s"] = time.perf_counter() - begun
    sync(); out["done_s"] = time.perf_counter() - begun
    try:
        tf.zeros((1 << 28,)); out["refused"] = ""
    except Exception as error:
        out["refused"] = type(error).__name__
    fresh = [tf.identity(a + float(i)) for i in range(5)]; sync(); begun = time.perf_counter()
    for each in fresh:
        each.numpy()
    out["copies_s"] = time.perf_counter() - begun
from tuilab.worker.measure.stopwatch import sync_of
own = sync_of(tf, "GPU:0"); own()
with tf.device("/GPU:1"):
    c = tf.random.uniform((64, 64)); c @ c; sync()
    for _ in range(20):
        d = c @ c
begun = time.perf_counter(); own(); out["own_s"] = time.perf_counter() - begun
sync(); out["all_s"] = time.perf_counter() - begun
print(json.dumps(out))
"""


def run_alone(program: str, made: dict[str, str]) -> dict[str, Any]:
    environment = {**os.environ, **made, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def seen(emulated_gpu: Environment) -> dict[str, Any]:
    made = emulated_gpu(2, memory=256 * 2**20, kernel_us=20_000, copy_us=10_000)
    return repeat(lambda: run_alone(PROGRAM, made), asynchronous)


def asynchronous(seen: dict[str, Any]) -> bool:
    """Return True if calls return before their kernels have run, and if no device waits for another one."""
    return bool(
        seen["done_s"] > 20 * 0.020 > 2 * seen["enqueued_s"]
        and seen["copies_s"] > 5 * 0.010
        and seen["all_s"] > 0.2
        and seen["own_s"] < seen["all_s"] / 2
    )


def test_the_emulated_gpu_is_named_emulated_and_computes_like_the_cpu(seen: dict[str, Any]) -> None:
    assert seen["devices"] == ["/device:GPU:0", "/device:GPU:1"] and seen["named"] == "EMULATED"
    assert seen["matmul"] == ["GPU:0", "GPU:0", True] and seen["graph"]
    assert seen["conv"] == seen["stft"] == "GPU:0" and seen["variable"] == [2.0] * 4
    assert seen["int32"] == ["GPU:0", "CPU:0"], "int32 stays in host memory, as in the CUDA build"
    assert seen["refused"] == "ResourceExhaustedError", "its memory is limited"


GRADIENTS = """
import json
import keras
import tensorflow as tf
from keras import layers
from tensorflow.python.client import device_lib

def gradients(device):
    keras.utils.set_random_seed(1)
    with tf.device(device):
        given = keras.Input((16, 16, 4))
        x = layers.Conv2D(8, 3, padding="same", activation="relu")(given)
        model = keras.Model(given, layers.Dense(2)(layers.GlobalAveragePooling2D()(x)))
        @tf.function(input_signature=[tf.TensorSpec((None, 16, 16, 4))])
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - 1.0))
            return [tf.reduce_sum(tf.abs(each)) for each in tape.gradient(loss, model.trainable_variables)]
        x = tf.random.stateless_uniform((8, 16, 16, 4), (1, 2))
        return [float(each) for n in range(60) for each in step(x[:3 + n % 6])]

gpu = tf.config.list_physical_devices("GPU")[0]
print(json.dumps({"cpu": gradients("/CPU:0"), "gpu": gradients("/GPU:0"),
    "details": tf.config.experimental.get_device_details(gpu),
    "limit": [d.memory_limit for d in device_lib.list_local_devices() if d.device_type == "GPU"],
    "peak": tf.config.experimental.get_memory_info("GPU:0")["peak"]}))
"""


def test_asynchronous_gradients_are_the_cpus(emulated_gpu: Environment) -> None:
    """Uses pooling with a batch size known only at run time: the gradient of pooling reads shapes from the
    device's memory.
    """
    found = run_alone(GRADIENTS, emulated_gpu(1, memory=512 * 2**20, capability="8.0", kernel_us=30))
    assert found["gpu"] == pytest.approx(found["cpu"], rel=1e-3)
    assert found["details"] == {"device_name": "EMULATED", "compute_capability": [8, 0]}
    assert 0 < found["peak"] < found["limit"][0] <= 512 * 2**20


def test_the_emulated_gpu_has_kernels_for_sparse_tensors(seen: dict[str, Any]) -> None:
    """The number of segments depends on the data, not only on the shapes."""
    there, sums, lengths = seen["sparse"]
    assert there and sums == pytest.approx([5.0, 5.0, 6.0, 6.0, 2 * 1.609438], rel=1e-5)
    assert lengths == [3, 3, 2, 3, 2]


def test_results_are_in_host_memory_if_the_registry_says_so(seen: dict[str, Any]) -> None:
    host = dict.fromkeys(("shape", "stack", "range"), "CPU:0")
    assert seen["on_host"] == host | {"unique": "GPU:0"}


def test_emulated_work_is_asynchronous_with_a_set_time_and_is_waited_for(seen: dict[str, Any]) -> None:
    """The time of an arm includes the work of its own device, but not that of other devices."""
    assert asynchronous(seen), seen


def test_the_table_gives_a_kernel_for_each_combination_of_types() -> None:
    from tests.emulated_gpu.build import rows

    made = list(rows("Cast | A=1,2 B=3 | x y\nNothing | - | -"))
    assert made == [
        '{"Cast", "A=1 B=3", "x y"},\n',
        '{"Cast", "A=2 B=3", "x y"},\n',
        '{"Nothing", "", ""},\n',
    ]
