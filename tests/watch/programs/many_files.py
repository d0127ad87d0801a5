# expects: input-bound
"""Many small files are decoded again for each batch."""

import os
import tempfile

import tensorflow as tf

folder = tempfile.mkdtemp()
for number in range(64):
    image = tf.cast(tf.random.uniform((160, 160, 3), 0, 255, tf.int32), tf.uint8)
    tf.io.write_file(os.path.join(folder, f"{number}.png"), tf.io.encode_png(image))


def load(name):
    image = tf.io.decode_png(tf.io.read_file(name), channels=3)
    return tf.reduce_mean(tf.image.convert_image_dtype(image, tf.float32), axis=[0, 1])


data = tf.data.Dataset.list_files(os.path.join(folder, "*.png")).repeat()
data = data.map(load)  # <- input-bound
data = data.batch(16).prefetch(2)
w = tf.Variable(tf.random.normal((3, 1)))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


for x in data.take(120):
    step(x)
