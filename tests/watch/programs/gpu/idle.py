# expects: gpu-idle
"""The whole step is pinned to the CPU."""

import tensorflow as tf

with tf.device("/CPU:0"):
    x = tf.random.normal((300, 300))


@tf.function
def step(x):  # <- gpu-idle
    with tf.device("/CPU:0"):
        for _ in range(4):
            x = tf.nn.relu(x @ x * 1e-3)
        return x


with tf.device("/CPU:0"):
    for _ in range(300):
        x = step(x)
