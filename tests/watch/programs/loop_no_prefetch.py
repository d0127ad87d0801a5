# expects: input-bound, no-prefetch
# may: serial-map
"""A pipeline creates each batch only on request."""

import tensorflow as tf


def decode(x, y):
    for _ in range(10):
        x = tf.cumsum(tf.sort(x, axis=1), axis=1) * 1e-3
    return x, y


data = tf.data.Dataset.from_tensor_slices(
    (tf.random.uniform((512, 128)), tf.random.uniform((512, 1)))
).repeat()
data = data.batch(64).map(decode, num_parallel_calls=1)
options = tf.data.Options()
options.experimental_optimization.inject_prefetch = False
data = data.with_options(options)
w = tf.Variable(tf.random.normal((128, 256)) * 0.05)
v = tf.Variable(tf.random.normal((256, 1)) * 0.05)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.relu(x @ w) @ v - y) ** 2)
    for each, gradient in zip([w, v], tape.gradient(loss, [w, v])):
        each.assign_sub(0.001 * gradient)
    return loss


for x, y in data.take(150):  # <- no-prefetch
    step(x, y)
