# expects: input-bound
"""The step waits for a generator. The few individual ops that prepare its batch take little time."""

import time

import tensorflow as tf


def made():
    while True:
        time.sleep(0.008)
        yield tf.zeros((64, 256))


data = tf.data.Dataset.from_generator(made, output_signature=tf.TensorSpec((64, 256)))  # <- input-bound
weights = tf.Variable(tf.random.normal((256, 64)))
step = tf.function(lambda x: weights.assign_sub(0.01 * tf.matmul(x, tf.matmul(x, weights), transpose_a=True)))
batches = iter(data)
for _ in range(400):
    x = tf.nn.relu(next(batches) - 0.5)
    step(x * 2.0)
print(float(tf.reduce_sum(weights)))
