"""The work counted in graphs and eager ops, compared with counts by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from tuilab.model.arms import Arm
from tuilab.model.parameters import check_values
from tuilab.model.roofline import Work
from tuilab.worker.measure.counting import counting, flop, uncounted
from tuilab.worker.measure.observed import of_call
from tuilab.worker.measure.work import of_function, work_of
from tuilab.workloads import stft

pytestmark = pytest.mark.real_worker

CLOSE = 0.05
Program = Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]


def lstm(tf: Any) -> Any:
    model = tf.keras.Sequential([tf.keras.Input((20, 32)), tf.keras.layers.LSTM(64)])
    return lambda x: model(x), (tf.ones((32, 20, 32)),)


def gru(tf: Any) -> Any:
    model = tf.keras.Sequential([tf.keras.Input((20, 32)), tf.keras.layers.GRU(64, return_sequences=True)])
    return lambda x: model(x), (tf.ones((32, 20, 32)),)


def attention(tf: Any) -> Any:
    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = tf.einsum("bqhd,bkhd->bhqk", q, k) / 8.0
        return tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), v)

    x = tf.ones((2, 256, 4, 64))
    return attend, (x, x + 1, x + 2)


def equal_products(tf: Any) -> Any:
    x = tf.ones((500, 500))
    return lambda x: x @ x + x @ x + x @ x + x @ x, (x,)


def embedding(tf: Any) -> Any:
    table = tf.Variable(tf.ones((100_000, 64)))
    return lambda ids: tf.gather(table, ids), (tf.range(512),)


def embedding_argument(tf: Any) -> Any:
    return lambda table, ids: tf.gather(table, ids), (tf.ones((100_000, 64)), tf.range(512))


def sliced(tf: Any) -> Any:
    return lambda x: tf.reduce_sum(x[:10]), (tf.ones((100_000, 64)),)


def product(tf: Any) -> Any:
    return tf.matmul, (tf.ones((300, 200)), tf.ones((200, 100)))


def complex_product(tf: Any) -> Any:
    x = tf.ones((100, 100), tf.complex64)
    return tf.matmul, (x, x + 1)


def transposed(tf: Any) -> Any:
    return lambda x: tf.matmul(x, x, transpose_a=True), (tf.ones((300, 100)),)


def batched(tf: Any) -> Any:
    return tf.matmul, (tf.ones((8, 60, 40)), tf.ones((8, 40, 50)))


def convolution(tf: Any) -> Any:
    return lambda x, w: tf.nn.conv2d(x, w, 1, "VALID"), (tf.ones((2, 32, 32, 3)), tf.ones((3, 3, 3, 8)))


def convolution_gradient(tf: Any) -> Any:
    def step(x: Any, w: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = tf.reduce_sum(tf.nn.conv2d(x, w, 1, "SAME"))
        return tape.gradient(y, [x, w])

    return step, (tf.ones((2, 32, 32, 16)), tf.ones((3, 3, 16, 32)))


def depthwise(tf: Any) -> Any:
    return lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID"), (
        tf.ones((2, 32, 32, 8)),
        tf.ones((3, 3, 8, 1)),
    )


def pooling(tf: Any) -> Any:
    return lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), (tf.ones((4, 64, 64, 8)),)


def loop(tf: Any) -> Any:
    def step(x: Any) -> Any:
        s = x
        for _ in tf.range(50):
            s = s @ x
        return s

    return step, (tf.ones((64, 64)),)


def while_loop(tf: Any) -> Any:
    def step(x: Any) -> Any:
        return tf.while_loop(lambda i, s: i < 30, lambda i, s: (i + 3, s @ x), (tf.constant(0), x))[1]

    return step, (tf.ones((64, 64)),)


def nested_loops(tf: Any) -> Any:
    def step(x: Any) -> Any:
        s = x
        for _ in tf.range(5):
            for _ in tf.range(4):
                s = s @ x
        return s

    return step, (tf.ones((64, 64)),)


def nested_functions(tf: Any) -> Any:
    inner = tf.function(lambda x: x @ x)
    middle = tf.function(lambda x: inner(x) @ x)
    return lambda x: inner(middle(x)), (tf.ones((128, 128)),)


def python_loop(tf: Any) -> Any:
    def step(x: Any) -> Any:
        s = x
        for _ in range(20):
            s = s @ x
        return s

    return step, (tf.ones((64, 64)),)


def mapped(tf: Any) -> Any:
    return lambda x: tf.map_fn(lambda row: tf.linalg.matvec(tf.ones((64, 64)) * row[0], row), x), (
        tf.ones((40, 64)),
    )


def dead(tf: Any) -> Any:
    def step(x: Any) -> Any:
        tf.matmul(x, x)
        return x + 1.0

    return step, (tf.ones((200, 200)),)


def folded(tf: Any) -> Any:
    return lambda x: x + tf.matmul(tf.ones((64, 64)), tf.ones((64, 64))), (tf.ones((64, 64)),)


def branch(tf: Any) -> Any:
    return lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x @ x, lambda: x @ x @ x), (tf.ones((128, 128)),)


def case(tf: Any) -> Any:
    few, many = (lambda: x @ x), (lambda: x @ x @ x)
    x = tf.ones((128, 128))
    return lambda x: tf.switch_case(tf.constant(-3), [few, few, many]), (x,)


def transform(tf: Any) -> Any:
    return lambda x: tf.signal.fft(x), (tf.ones((16, 1024), tf.complex64),)


def real_transform(tf: Any) -> Any:
    return lambda x: tf.signal.rfft(x), (tf.ones((16, 1024)),)


def dense_training(tf: Any) -> Any:
    w = tf.Variable(tf.ones((256, 128)))

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    return step, (tf.ones((64, 256)), tf.ones((64, 128)))


def cholesky(tf: Any) -> Any:
    return tf.linalg.cholesky, (tf.eye(200),)


def sparse(tf: Any) -> Any:
    import numpy as np

    indices = np.stack([np.arange(500), np.arange(500)], 1)
    a = tf.sparse.SparseTensor(indices, tf.ones((500,)), (500, 500))
    return lambda b: tf.sparse.sparse_dense_matmul(a, b), (tf.ones((500, 40)),)


def elementwise(tf: Any) -> Any:
    return lambda x, y: tf.exp(x) * y + 1.0, (tf.ones((1000, 100)), tf.ones((1000, 100)))


N, LSTM_STEP, GRU_STEP = 64**3, 2 * 32 * (32 + 64) * 256, 2 * 32 * (32 + 64) * 192 + 32 * 64 * 18
# Each row: FLOP as a graph, FLOP of the eager ops (None: equal), bytes accessed (None: not stated). To find
# the shapes, Keras runs a cell once more than there are steps; a graph omits that extra run.
TRUTHS: dict[Program, tuple[float, float | None, float | None]] = {
    lstm: (20 * (LSTM_STEP + 32 * (2 * 256 + 9 * 64)), 21 * (LSTM_STEP + 32 * (2 * 256 + 9 * 64)), 4 * (32 * 20 * 32 + 32 * 64 + (32 + 64 + 1) * 256)),
    gru: (20 * GRU_STEP, 21 * GRU_STEP, 4 * (32 * 20 * (32 + 64) + (32 + 64 + 2) * 192)),
    attention: (2 * 2 * 2 * 4 * 256 * 256 * 64 + 6 * 2 * 4 * 256 * 256, None, 4 * 4 * 2 * 256 * 4 * 64),
    equal_products: (2 * 500**3, 4 * 2 * 500**3, 2 * 4 * 500**2),
    embedding: (0, None, 2 * 4 * 512 * 64 + 4 * 512),
    embedding_argument: (0, None, 2 * 4 * 512 * 64 + 4 * 512),
    sliced: (640, None, 4 * 640 + 4),
    product: (2 * 300 * 200 * 100, None, 4 * (300 * 200 + 200 * 100 + 300 * 100)),
    complex_product: (8 * 100**3, None, 3 * 8 * 100**2),
    transposed: (2 * 100 * 100 * 300, None, 4 * (300 * 100 + 100 * 100)),
    batched: (2 * 8 * 60 * 40 * 50, None, 4 * 8 * (60 * 40 + 40 * 50 + 60 * 50)),
    convolution: (2 * 2 * 30 * 30 * 8 * 27, None, 4 * (2 * 32 * 32 * 3 + 216 + 2 * 30 * 30 * 8)),
    convolution_gradient: (2 * 2 * 2 * 32 * 32 * 32 * 9 * 16, 3 * 2 * 2 * 32 * 32 * 32 * 9 * 16, 4 * 2 * (2 * 32 * 32 * 16 + 9 * 16 * 32)),
    depthwise: (2 * 2 * 30 * 30 * 8 * 9, None, 4 * (2 * 32 * 32 * 8 + 72 + 2 * 30 * 30 * 8)),
    pooling: (4 * 32 * 32 * 8 * 4, None, 4 * (4 * 64 * 64 * 8 + 4 * 32 * 32 * 8)),
    loop: (50 * 2 * N, None, 2 * 4 * 64**2),
    while_loop: (10 * 2 * N, None, 2 * 4 * 64**2),
    nested_loops: (20 * 2 * N, None, 2 * 4 * 64**2),
    nested_functions: (3 * 2 * 128**3, None, 2 * 4 * 128**2),
    python_loop: (20 * 2 * N, None, 2 * 4 * 64**2),
    mapped: (40 * (2 * 64**2 + 64**2), None, None),
    dead: (200**2, 2 * 200**3 + 200**2, 2 * 4 * 200**2),
    folded: (64**2, 2 * N + 64**2, None),
    branch: (2 * 128**3 + 128**2, None, 2 * 4 * 128**2),
    case: (2 * 2 * 128**3, None, None),
    transform: (16 * 5 * 1024 * 10, None, 2 * 8 * 16 * 1024),
    real_transform: (16 * 2.5 * 1024 * 10, None, 4 * 16 * 1024 + 8 * 16 * 513),
    dense_training: (2 * 2 * 64 * 256 * 128 + 2 * 256 * 128 + 5 * 64 * 128, None, 4 * (64 * 256 + 64 * 128 + 2 * 256 * 128)),
    cholesky: (200**3 / 3, None, 2 * 4 * 200**2),
    sparse: (2 * 500 * 40, None, 4 * (2 * 500 * 40) + 500 * (4 + 16)),
    elementwise: (3 * 1000 * 100, None, 3 * 4 * 1000 * 100),
}  # fmt: skip


def graph(tf: Any, program: Program, **how: Any) -> Work:
    call, arguments = program(tf)
    concrete = tf.function(call, **how).get_concrete_function(*arguments)
    return work_of(of_function(concrete, arguments))


def eager(tf: Any, program: Program) -> Work:
    call, arguments = program(tf)
    with counting(arguments) as ran:
        out = call(*arguments)
    ran.hand_back(tf.nest.flatten(out))
    return work_of(ran.counted)


@pytest.mark.parametrize("program", TRUTHS, ids=lambda program: program.__name__)
def test_the_work_of_a_graph_matches_the_count_by_hand(tf: Any, program: Program) -> None:
    flop, _, moved = TRUTHS[program]
    work = graph(tf, program)
    assert work.uncounted == ()
    assert work.flop == pytest.approx(flop, rel=CLOSE, abs=1)
    assert moved is None or work.bytes == pytest.approx(moved, rel=CLOSE, abs=64)


@pytest.mark.parametrize("program", TRUTHS, ids=lambda program: program.__name__)
def test_eager_ops_are_counted_as_they_run(tf: Any, program: Program) -> None:
    """In eager mode, nothing is merged, dropped or folded, and all ops of a Python loop count."""
    graphs, apart, moved = TRUTHS[program]
    work = eager(tf, program)
    assert work.uncounted == ()
    assert work.flop == pytest.approx(graphs if apart is None else apart, rel=CLOSE, abs=1)
    assert moved is None or work.bytes == pytest.approx(moved, rel=CLOSE, abs=1_000)


def test_the_work_of_a_model_is_split_by_layer(tf: Any) -> None:
    """A layer's bytes are the bytes of its inputs, of its weights, and of the outputs that the next layer
    uses.
    """
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((64,)),
            layers.Dense(32, activation="relu", name="first"),
            layers.Dense(8, name="last"),
        ],
        name="net",
    )
    x = tf.ones((16, 64))
    counted = of_function(tf.function(lambda x: model(x)).get_concrete_function(x), (x,))
    first, last = (
        [part for part in counted.parts if f"/{layer}" in part.name] for layer in ("first", "last")
    )
    assert sum(flop(first).values()) == 16 * 32 * (2 * 64 + 2)
    assert sum(flop(last).values()) == 16 * 8 * (2 * 32 + 1)
    read, left = counted.touched(first)
    assert sum(read.values()) == 4 * (16 * 64 + 64 * 32 + 32) and sum(left.values()) == 4 * 16 * 32


def test_ops_count_as_often_as_they_run_and_fused_ops_as_one_launch(tf: Any) -> None:
    assert graph(tf, loop).kernels == 50
    assert graph(tf, equal_products).kernels == 2
    assert eager(tf, equal_products).kernels == 7


def hashed(tf: Any, dtype: str = "int64", width: int = -1) -> Any:
    def bucket(x: Any) -> Any:
        return tf.strings.to_hash_bucket_fast(tf.strings.as_string(x, width=width), 1000)

    return lambda _: (bucket, (tf.cast(tf.range(64), dtype),))


def test_integers_hashed_as_strings_stay_on_the_cpu_only_op_by_op(tf: Any) -> None:
    """The optimizer fuses both ops into one with a GPU kernel."""
    strings = ["AsString", "StringToHashBucketFast"]
    work = graph(tf, hashed(tf))
    assert not work.stays and work.kernels == 1
    assert [stay.op for stay in eager(tf, hashed(tf)).stays] == strings
    for other in (hashed(tf, "float32"), hashed(tf, width=9)):
        assert [stay.op for stay in graph(tf, other).stays] == strings


def test_work_that_depends_on_the_data_is_named_not_guessed(tf: Any) -> None:
    def until_large(_: Any) -> Any:
        return lambda x: tf.while_loop(lambda s: tf.reduce_sum(s) < 1e9, lambda s: (s @ x,), (x,)), (
            tf.ones((8, 8)),
        )

    work = graph(tf, until_large)
    assert work.flop is None and work.uncounted == (
        "StatelessWhile (its number of iterations depends on the data)",
    )


def test_ctc_loss_is_counted_with_a_loop_over_its_frames(tf: Any) -> None:
    labels, sizes = tf.ones((3, 4), tf.int32), (tf.fill([3], 4), tf.fill([3], 12))
    call = tf.function(lambda y, x, a, b: tf.nn.ctc_loss(y, x, a, b, True, blank_index=5))
    given = (labels, tf.ones((12, 3, 6)), *sizes)
    counted = of_call(call.get_concrete_function(*given), given)
    assert not uncounted(counted.parts) and set(counted.loops.values()) == {12.0}


def test_a_function_for_any_size_is_counted_at_the_size_of_its_call(tf: Any) -> None:
    spec = tf.TensorSpec((None, None), tf.float32)
    concrete = tf.function(lambda x: tf.function(lambda y: y @ y)(x) @ x, [spec]).get_concrete_function()
    assert work_of(of_function(concrete, (tf.ones((100, 100)),))).flop == 2 * 2 * 100**3


def test_outputs_kept_by_a_tape_are_not_bytes_of_the_call(tf: Any) -> None:
    """A function that ran under a tape returns every intermediate value that its gradient would need."""
    w = tf.Variable(tf.ones((64, 64)))
    step = tf.function(lambda x: tf.reduce_sum(tf.tanh(tf.tanh(tf.tanh(x @ w)))))
    x = tf.ones((512, 64))
    before = work_of(of_function(step.get_concrete_function(x), (x,)))
    with tf.GradientTape() as tape:
        y = step(x)
    tape.gradient(y, w)
    after = work_of(of_function(step.get_concrete_function(x), (x,)))
    assert after.bytes == before.bytes == pytest.approx(4 * (512 * 64 + 64 * 64), rel=0.01)


@pytest.mark.parametrize("filtered", [False, True])
def test_a_preset_counts_the_operations_that_are_counted_in_the_same_function(filtered: bool) -> None:
    import tensorflow as tf

    taps = tf.reshape(tf.constant(stft.FIR), (-1, 1, 1))

    def spectra(x: Any) -> Any:
        x = tf.nn.conv1d(x[..., None], taps, 1, "SAME")[..., 0] if filtered else x
        return tf.signal.stft(x, 512, 256, 512)

    sizes = {"samples": 10_240, "frame_length": 512, "frame_step": 256, "fft_length": 512, "filter": filtered}
    values = check_values(stft.DECLARATION.parameters, stft.DECLARATION.constraints, sizes)
    x = tf.ones((1, 10_240))
    counted = work_of(of_function(tf.function(spectra).get_concrete_function(x), (x,))).flop
    assert counted == pytest.approx(stft.work(values, Arm("CPU:0", "graph")).flop, rel=0.01)
