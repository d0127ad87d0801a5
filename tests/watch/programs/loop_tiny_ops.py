# expects: xla-off
"""Hundreds of ops process a few numbers each."""

import tensorflow as tf

x = tf.random.normal((10, 10))


@tf.function
def step(x):  # <- xla-off
    for _ in range(200):
        x = x * 0.5 + 0.25
    return x


for _ in range(30_000):
    x = step(x)
