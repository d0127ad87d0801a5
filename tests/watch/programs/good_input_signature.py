# expects:
"""Batches of every length need only a single trace."""

import random

import tensorflow as tf

w = tf.Variable(tf.random.normal((256, 256)) * 0.05)


@tf.function(input_signature=[tf.TensorSpec((None, 256), tf.float32)])
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.relu(x @ w) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    return loss


random.seed(2)
for _ in range(300):
    step(tf.ones((random.randint(300, 600), 256)))
