# expects:
import os
import tempfile

import numpy as np
import tensorflow as tf

file = os.path.join(tempfile.mkdtemp(), "data.tfrecord")
with tf.io.TFRecordWriter(file) as writer:
    for _ in range(600):
        writer.write(np.random.rand(129).astype("float32").tobytes())


def parse(record):
    x = tf.reshape(tf.io.decode_raw(record, tf.float32), (129,))
    return x[:128], x[128:]


data = tf.data.TFRecordDataset(file).map(parse, num_parallel_calls=tf.data.AUTOTUNE).cache().repeat()
data = data.batch(256).prefetch(tf.data.AUTOTUNE)
w = tf.Variable(tf.random.normal((128, 2048)) * 0.05)
v = tf.Variable(tf.random.normal((2048, 1)) * 0.05)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.relu(x @ w) @ v - y) ** 2)
    for each, gradient in zip([w, v], tape.gradient(loss, [w, v])):
        each.assign_sub(0.001 * gradient)
    return loss


for number, (x, y) in enumerate(data.take(150)):
    loss = step(x, y)
    if number % 50 == 0:
        print(float(loss))
