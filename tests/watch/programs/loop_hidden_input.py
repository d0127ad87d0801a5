# expects: eager-step
# may: input-bound, python-in-map
"""A step runs op by op while another thread prepares its input with NumPy. As a graph, it would wait."""

import numpy as np
import tensorflow as tf

x = np.random.rand(2_048, 400).astype("float32")
w = tf.Variable(tf.random.normal((400, 7)))


def augment(row):
    for _ in range(40):
        row = np.tanh(row) * 1.01
    return row.astype("float32")


def prepare(row):
    return tf.ensure_shape(tf.numpy_function(augment, [row], tf.float32), [400])


def step(rows):
    with tf.GradientTape() as tape:  # <- eager-step
        for _ in range(25):
            rows = tf.nn.gelu(rows * 1.01)
        loss = tf.reduce_mean((rows @ w) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


data = tf.data.Dataset.from_tensor_slices(x).repeat().map(prepare).batch(16).prefetch(2)
for rows in data.take(500):
    loss = step(rows)
