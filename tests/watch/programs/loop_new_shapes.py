# expects: retraced
"""Sentences vary in length, and each new length causes a trace."""

import random

import tensorflow as tf

table = tf.Variable(tf.random.normal((1000, 32)))


@tf.function
def step(words):  # <- retraced
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.reduce_sum(tf.gather(table, words), 1) ** 2)
    table.assign_sub(0.01 * tf.convert_to_tensor(tape.gradient(loss, table)))
    return loss


random.seed(1)
for _ in range(200):
    step(tf.zeros((8, random.randint(5, 60)), tf.int32))
