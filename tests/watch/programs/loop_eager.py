# expects: eager-step
"""A training step runs without a tf.function."""

import tensorflow as tf

w = [tf.Variable(tf.random.normal((32, 32)) * 0.1) for _ in range(8)]
x = tf.random.normal((16, 32))
for _ in range(300):
    with tf.GradientTape() as tape:  # <- eager-step
        h = x
        for each in w:
            h = tf.nn.tanh(h @ each)
        loss = tf.reduce_mean(h**2)
    for each, gradient in zip(w, tape.gradient(loss, w)):
        each.assign_sub(0.1 * gradient)
