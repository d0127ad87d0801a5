# expects: retraced
"""The learning rate is a Python number that changes, so each value causes a trace."""

import tensorflow as tf

w = tf.Variable(tf.random.normal((64, 64)))


@tf.function
def step(x, rate):  # <- retraced
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.relu(x @ w) ** 2)
    w.assign_sub(rate * tape.gradient(loss, w))
    return loss


x = tf.random.normal((256, 64))
for epoch in range(40):
    rate = 0.01 * 0.97**epoch
    for _ in range(10):
        step(x, rate)
