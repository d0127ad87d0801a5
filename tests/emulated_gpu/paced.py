"""Functions with an op of configured speed (device/paced.c)."""

import time

import tensorflow as tf


def paced(elements: int = 1000):
    """Run one op with a configured duration: per element on the CPU, per kernel on the GPU."""
    return tf.math.digamma, (tf.ones((elements,)).numpy(),)


def paced_copied():
    return paced()


def paced_thrice():
    return lambda x: tf.math.digamma(tf.math.digamma(tf.math.digamma(x))), paced()[1]


def paced_by_sleep():
    """Sleep in Python for as long as three kernels take, then run one kernel."""
    kernel = tf.function(tf.math.digamma)

    def step(x):
        time.sleep(60e-3)
        return kernel(x)

    return step, paced()[1]


def a_thousand():
    """Run five hundred products and five hundred sums, none of which an optimizer can remove."""

    def step(x):
        for _ in range(500):
            x = x * 1.01 + 1.0
        return x

    return step, paced(8)[1]


def on_host(x):
    with tf.device("/CPU:0"):
        return tf.math.digamma(x)


def stalled():
    return lambda x: tf.math.digamma(on_host(tf.math.digamma(x))), paced()[1]


def fed_by_host():
    """Run a host op before two kernels. The device has no other work meanwhile, so this is not a stall
    between kernels.
    """
    return lambda x: tf.math.digamma(tf.math.digamma(on_host(x))), paced()[1]


def mixed():
    def step(x):
        with tf.device("/CPU:0"):
            pinned = tf.math.digamma(x)
        whole = tf.cast(tf.reshape(x, (8, 125)), tf.int32)
        product = tf.matmul(whole, whole, transpose_b=True)
        lengths = tf.strings.length(tf.strings.as_string(product))
        return tf.math.digamma(pinned) + tf.reduce_sum(tf.cast(lengths, tf.float32))

    return step, paced()[1]


def stalled_twice():
    return lambda x: tf.math.digamma(on_host(tf.math.digamma(on_host(tf.math.digamma(x))))), paced()[1]


def ten_kernels():
    def step(x):
        for _ in range(10):
            x = tf.math.digamma(x)
        return x

    return step, paced()[1]


def ten_kernels_and_a_stall():
    """Run ten kernels, and between two of them a host op that is faster than the kernels."""

    def step(x):
        for n in range(10):
            x = tf.math.digamma(x)
            x = on_host(x) if n == 4 else x
        return x

    return step, paced()[1]


def large():
    return tf.math.digamma, (tf.ones((1_000_000,)).numpy(),)


def large_input_only():
    return lambda x: tf.math.digamma(x)[:1], (tf.ones((1_000_000,)).numpy(),)


def python_between():
    """Run two kernels, and sleep in Python between them for as long as four kernels take."""
    kernel = tf.function(tf.math.digamma)

    def step(x):
        x = kernel(x)
        time.sleep(80e-3)
        return kernel(x)

    return step, paced()[1]
