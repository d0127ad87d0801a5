# expects: between-steps
"""The program computes statistics in pure Python after each step."""

import tensorflow as tf

w = tf.Variable(tf.random.normal((128, 256)) * 0.05)
v = tf.Variable(tf.random.normal((256, 1)) * 0.05)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.relu(x @ w) @ v - y) ** 2)
    for each, gradient in zip([w, v], tape.gradient(loss, [w, v])):
        each.assign_sub(0.001 * gradient)
    return loss


def statistics():
    return sum(i * i % 7 for i in range(200_000))  # <- between-steps


x, y = tf.random.normal((64, 128)), tf.random.normal((64, 1))
for _ in range(200):
    step(x, y)
    statistics()
