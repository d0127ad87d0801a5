# expects: eager-functions
"""A debugging call was left in the program."""

import tensorflow as tf

tf.config.run_functions_eagerly(True)  # <- eager-functions
w = tf.Variable(tf.random.normal((128, 256)) * 0.05)
v = tf.Variable(tf.random.normal((256, 1)) * 0.05)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.nn.relu(x @ w) @ v - y) ** 2)
    for each, gradient in zip([w, v], tape.gradient(loss, [w, v])):
        each.assign_sub(0.001 * gradient)
    return loss


x, y = tf.random.normal((64, 128)), tf.random.normal((64, 1))
for _ in range(200):
    step(x, y)
