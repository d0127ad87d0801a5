# expects: input-bound, serial-map
"""A map augments images at random, so TensorFlow does not parallelize it by itself."""

import tensorflow as tf


def augment(x, y):
    for _ in range(12):
        x = tf.image.random_contrast(x + tf.random.uniform(tf.shape(x)), 0.5, 1.5)
    return tf.reduce_mean(x, axis=[1, 2]), y


data = tf.data.Dataset.from_tensor_slices(
    (tf.random.uniform((256, 96, 96, 3)), tf.random.uniform((256, 1)))
).repeat()
data = data.batch(16)
data = data.map(augment)  # <- serial-map, input-bound
data = data.prefetch(tf.data.AUTOTUNE)
w = tf.Variable(tf.random.normal((3, 1)))


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - y) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


for x, y in data.take(80):
    step(x, y)
