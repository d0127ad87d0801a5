# expects: float64
"""NumPy's default float64 reaches the step."""

import numpy as np
import tensorflow as tf

x = tf.constant(np.random.rand(512, 512))
w = tf.Variable(np.random.rand(512, 512) * 0.01)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)  # <- float64
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


for _ in range(120):
    step(x)
