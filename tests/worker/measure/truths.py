"""User functions whose parts have a known duration. `test_known_truths` measures them."""

import time
import zlib

import numpy as np
import tensorflow as tf


def _busy(ms):
    until = time.perf_counter() + ms / 1e3
    while time.perf_counter() < until:
        pass


def _source(ms, ahead=0):
    """Return a dataset that sleeps `ms` milliseconds per element and prefetches `ahead` elements."""
    made = tf.data.Dataset.range(10**9).map(lambda i: tf.numpy_function(_slept(ms), [i], tf.float32))
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    made = made.with_options(options)
    return made.prefetch(ahead) if ahead else made


def _slept(ms):
    def element(value):
        time.sleep(ms / 1e3)
        return np.float32(value)

    return element


def _product(n):
    a = tf.random.normal((n, n))
    return lambda: a @ a


def input_alone():
    return (lambda v: v), _source(20)


def input_ahead():
    return (lambda v: v), _source(20, ahead=2)


def input_deep():
    return (lambda v: v), _source(20, ahead=16)


def input_and_product():
    product = _product(512)
    return (lambda v: product()[0, 0] + v), _source(20)


def input_hidden():
    product = _product(1_200)
    return (lambda v: product()[0, 0] + v), _source(2, ahead=2)


def input_by_hand():
    drawn = iter(_source(20, ahead=2))
    return lambda: next(drawn) + 1.0


def _before_an_op(work):
    x = tf.ones(())

    def step():
        work()
        return x + 1.0

    return step


def python_loop():
    return _before_an_op(lambda: _busy(5))


def python_sleep():
    return _before_an_op(lambda: time.sleep(0.005))


def python_zlib():
    data = np.arange(400_000).tobytes()
    return _before_an_op(lambda: zlib.compress(data, 1))


def python_numpy():
    a = np.random.default_rng(0).random((600, 600))
    return _before_an_op(lambda: np.sort(a))


def python_called_back():
    x = tf.ones(())
    return lambda: tf.numpy_function(_slept(5), [x], tf.float32)


def python_beside_product():
    product = _product(256)

    def step():
        time.sleep(0.02)
        return product()

    return step


def product_large():
    return _product(1_200)


def product_mid():
    return _product(512)


def products_in_loop():
    a = tf.random.normal((600, 600))

    def step():
        y = a
        for _ in tf.range(4):
            y = tf.tanh(tf.matmul(y, a) * 0.01)
        return y

    return step


def elementwise():
    x = tf.random.normal((4_000_000,))
    return lambda: x * 2.0 + 1.0


def reduction():
    x = tf.random.normal((8_000_000,))
    return lambda: tf.reduce_sum(x)


def convolution():
    x, w = tf.random.normal((8, 64, 64, 16)), tf.random.normal((3, 3, 16, 32))
    return lambda: tf.nn.conv2d(x, w, 1, "SAME")


def sorting():
    x = tf.random.uniform((300_000,))
    return lambda: tf.sort(x)


def random_numbers():
    return lambda: tf.random.normal((2_000_000,))


def gathering():
    table, rows = tf.random.normal((100_000, 64)), tf.random.uniform((20_000,), 0, 100_000, tf.int32)
    return lambda: tf.gather(table, rows)


def transform():
    x = tf.random.normal((64, 16_384))
    return lambda: tf.signal.rfft(x)


def tiny():
    x = tf.ones(())
    return lambda: x + 1.0


def chain():
    x = tf.ones((8,))

    def step():
        y = x
        for _ in range(100):
            y = y + 1.0
        return y

    return step


def small_loop():
    x = tf.ones(())

    def step():
        y = x
        for _ in tf.range(300):
            y = y * 1.0001
        return y

    return step


def small_products():
    x = tf.random.normal((8, 8))

    def step():
        y = x
        for _ in range(200):
            y = tf.matmul(y, x) * 0.1
        return y

    return step


def input_ahead_of_product():
    """Return a matrix product whose input arrives more slowly than the kernel runs, so that each
    call waits.
    """
    return lambda v: tf.fill((64,), v) * 2.0, _source(20, ahead=2)
