# expects:
"""Hundreds of ops process a few numbers each, but in too few steps to repay XLA."""

import tensorflow as tf

x = tf.random.normal((10, 10))


@tf.function
def step(x):
    for _ in range(200):
        x = tf.sin(x) + 1.0
        x = tf.cos(x) * 0.5
    return x


for _ in range(3000):
    x = step(x)
