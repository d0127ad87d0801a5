# expects: xla-off
"""Hundreds of ops on a few numbers each."""

import tensorflow as tf

x = tf.random.normal((10, 10))


@tf.function
def step(x):  # <- xla-off
    for _ in range(200):
        x = tf.sin(x) + 1.0
        x = tf.cos(x) * 0.5
    return x


for _ in range(3000):
    x = step(x)
