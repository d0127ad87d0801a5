# expects: numpy-fed
"""Batches are slices of a NumPy array, and are passed to the step as arrays."""

import numpy as np
import tensorflow as tf

images = np.random.rand(64, 96, 96, 3).astype("float32")
kernel = tf.Variable(tf.random.normal((3, 3, 3, 8)) * 0.1)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.conv2d(x, kernel, 2, "SAME") ** 2)
    kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
    return loss


for number in range(120):
    at = number % 4 * 16
    step(images[at : at + 16])  # <- numpy-fed
