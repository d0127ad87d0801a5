"""Functions that use an op whose speed the emulation sets (device/paced.c)."""

import time

import tensorflow as tf


def paced(elements: int = 1000):
    """Run one op on `elements` elements. It takes a configured time: per element on the CPU, per kernel on
    the GPU.
    """
    return tf.math.digamma, (tf.ones((elements,)).numpy(),)


def paced_copied():
    return paced()


def paced_thrice():
    """Run three kernels in sequence."""
    return lambda x: tf.math.digamma(tf.math.digamma(tf.math.digamma(x))), paced()[1]


def paced_by_sleep():
    """Sleep in Python as long as three kernels take, and wait for one kernel."""
    kernel = tf.function(tf.math.digamma)

    def step(x):
        time.sleep(60e-3)
        return kernel(x)

    return step, paced()[1]


def a_thousand():
    """Run a product and a sum five hundred times. The ops are such that no optimiser can remove any."""

    def step(x):
        for _ in range(500):
            x = x * 1.01 + 1.0
        return x

    return step, paced(8)[1]


def on_host(x):
    """Run the op with a known speed, pinned to the host."""
    with tf.device("/CPU:0"):
        return tf.math.digamma(x)


def stalled():
    """Run two kernels with one host op in between."""
    return lambda x: tf.math.digamma(on_host(tf.math.digamma(x))), paced()[1]


def fed_by_host():
    """Run a host op before two kernels. While the device waits for the op, it has no other work to do, so no
    time is lost.
    """
    return lambda x: tf.math.digamma(tf.math.digamma(on_host(x))), paced()[1]


def mixed():
    """Run ops that stay on the host, for four different reasons."""

    def step(x):
        with tf.device("/CPU:0"):
            pinned = tf.math.digamma(x)
        whole = tf.cast(tf.reshape(x, (8, 125)), tf.int32)
        product = tf.matmul(whole, whole, transpose_b=True)
        lengths = tf.strings.length(tf.strings.as_string(product))
        return tf.math.digamma(pinned) + tf.reduce_sum(tf.cast(lengths, tf.float32))

    return step, paced()[1]


def stalled_twice():
    """Run three kernels with a host op in each gap."""
    return lambda x: tf.math.digamma(on_host(tf.math.digamma(on_host(tf.math.digamma(x))))), paced()[1]


def ten_kernels():
    """Run ten kernels in sequence."""

    def step(x):
        for _ in range(10):
            x = tf.math.digamma(x)
        return x

    return step, paced()[1]


def ten_kernels_and_a_stall():
    """Run ten kernels with one host op in the middle, which takes less time than the kernels."""

    def step(x):
        for n in range(10):
            x = tf.math.digamma(x)
            x = on_host(x) if n == 4 else x
        return x

    return step, paced()[1]


def large():
    """Run a kernel whose input is a thousand times as large."""
    return tf.math.digamma, (tf.ones((1_000_000,)).numpy(),)


def large_input_only():
    """Run a kernel with a large input and a result of one number."""
    return lambda x: tf.math.digamma(x)[:1], (tf.ones((1_000_000,)).numpy(),)


def python_between():
    """Run two kernels, and sleep in Python between them as long as four kernels take."""
    kernel = tf.function(tf.math.digamma)

    def step(x):
        x = kernel(x)
        time.sleep(80e-3)
        return kernel(x)

    return step, paced()[1]
