# expects: input-bound, python-in-map
"""Records are parsed in Python."""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf

file = os.path.join(tempfile.mkdtemp(), "data.tfrecord")
with tf.io.TFRecordWriter(file) as writer:
    for _ in range(400):
        writer.write(json.dumps(np.random.rand(2000).tolist()).encode())


def parse(record):
    return np.array(json.loads(record.numpy()), "float32")


def parsed(record):
    x = tf.py_function(parse, [record], tf.float32)
    x.set_shape((2000,))
    return x[:128], x[128:129]


data = tf.data.TFRecordDataset(file).repeat()
data = data.map(parsed, num_parallel_calls=tf.data.AUTOTUNE)  # <- python-in-map, input-bound
data = data.batch(16).prefetch(tf.data.AUTOTUNE)
w = tf.Variable(tf.random.normal((128, 256)) * 0.05)
v = tf.Variable(tf.random.normal((256, 1)) * 0.05)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.relu(x @ w) @ v - y) ** 2)
    for each, gradient in zip([w, v], tape.gradient(loss, [w, v])):
        each.assign_sub(0.001 * gradient)
    return loss


for x, y in data.take(150):
    step(x, y)
