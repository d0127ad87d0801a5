"""Twenty functions like those that users write. test_contradictions checks the statements about each of
them.
"""

import numpy as np
import tensorflow as tf


def _x(*shape):
    return tf.random.stateless_normal(shape, (1, 2))


def attention():
    q, k, v = (_x(4, 128, 64) for _ in range(3))
    return lambda: tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 8.0), v)


def cholesky():
    a = _x(256, 256)
    square = tf.matmul(a, a, transpose_b=True) + 256.0 * tf.eye(256)
    return lambda: tf.linalg.cholesky(square)


def convolutions():
    images, kernel, deeper = _x(8, 64, 64, 8), _x(3, 3, 8, 16), _x(3, 3, 16, 16)

    def step(x):
        x = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME"))
        return tf.reduce_mean(tf.nn.conv2d(x, deeper, 2, "SAME"), axis=(1, 2))

    return step, (images,)


def copied_back():
    a = _x(512, 512)
    return lambda: float(tf.reduce_sum(a @ a).numpy())


def dataset_step():
    data = tf.data.Dataset.range(10_000).map(lambda i: tf.cast(i, tf.float32) * tf.ones((64, 64)))
    weights = _x(64, 64)
    return (lambda rows: tf.reduce_sum(rows @ weights, axis=(1, 2))), data.batch(16)


def einsum():
    a, b = _x(8, 64, 64), _x(8, 64, 64)
    return lambda: tf.einsum("bij,bjk->bik", a, b)


def embedding():
    table, ids = _x(50_000, 64), tf.range(0, 50_000, 97)
    return lambda: tf.reduce_sum(tf.gather(table, ids), axis=-1)


def equal_products():
    a = _x(256, 256)
    return lambda: tf.add_n([tf.matmul(a, a) for _ in range(12)])


def gradient():
    weights, x = tf.Variable(_x(256, 64)), _x(128, 256)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(x @ weights) ** 2)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    return step


def loop_in_graph():
    a = _x(64, 64)

    def step():
        x = a
        for _ in tf.range(200):
            x = tf.tanh(x @ a * 0.1)
        return x

    return step


def loop_in_python():
    a = _x(32, 32)

    def step():
        x = a
        for _ in range(60):
            x = tf.nn.relu(x + a)
        return x

    return step


def lstm():
    layer = tf.keras.layers.LSTM(32)
    x = _x(8, 40, 16)
    layer(x)
    return (lambda given: layer(given)), (x,)


def numpy_inside():
    a = _x(300, 300)
    return lambda: tf.constant(np.linalg.norm(a.numpy(), axis=1))


def random_numbers():
    return lambda: tf.reduce_mean(tf.random.normal((400_000,)) ** 2)


def retraced():
    a = _x(64, 64)

    def step():
        return tf.function(lambda x: tf.tanh(x @ a))(a)

    return step


def sort():
    x = _x(200_000)
    return lambda: tf.sort(x)


def spectrum():
    signal = _x(4, 16_384)
    return lambda: tf.abs(tf.signal.stft(signal, 512, 256))


def strings():
    lines = tf.constant([f"{i},{i + 1},{i + 2}" for i in range(2_000)])
    return lambda: tf.reduce_sum(tf.strings.to_number(tf.strings.split(lines, ",").values))


def ragged():
    rows = tf.RaggedTensor.from_uniform_row_length(_x(8_000), 8)
    return lambda: tf.reduce_mean(tf.ragged.boolean_mask(rows, rows > 0.5), axis=1)


def two_branches(scale: int = 2):
    a = _x(128, 128)

    def step():
        big = tf.reduce_sum(a) > 0
        return tf.cond(big, lambda: a @ a * float(scale), lambda: a + float(scale))

    return step


def windows():
    x = _x(1, 100_000, 4)
    return lambda: tf.nn.max_pool1d(x, 16, 4, "VALID")
