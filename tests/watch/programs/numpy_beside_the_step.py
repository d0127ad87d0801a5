# expects:
# may: python-in-map, input-bound
"""NumPy prepares batches on the processors that the step uses, but the step hardly waits."""

import numpy as np
import tensorflow as tf


def clean(x):
    for _ in range(100):
        x = np.sort(x, axis=1)[:, ::-1] * 1.01
    return x


def cleaned(x):
    x = tf.numpy_function(clean, [x], tf.float32)
    x.set_shape((64, 512))
    return x


data = tf.data.Dataset.from_tensors(np.random.rand(64, 512).astype("float32")).repeat(8)
data = data.map(cleaned)  # <- python-in-map, input-bound
data = data.repeat().prefetch(4)
w = [tf.Variable(tf.random.normal((512, 512)) * 0.05) for _ in range(6)]


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        for each in w:
            x = tf.nn.relu(x @ each)
        loss = tf.reduce_mean(x**2)
    for each, gradient in zip(w, tape.gradient(loss, w)):
        each.assign_sub(0.001 * gradient)
    return loss


for x in data.take(250):
    step(x)
