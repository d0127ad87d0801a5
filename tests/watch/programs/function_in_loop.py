# expects: retraced
"""A tf.function is created again for each batch."""

import tensorflow as tf

w = tf.Variable(tf.random.normal((64, 64)) * 0.1)


def main():
    x = tf.random.normal((64, 64))
    for _ in range(60):

        @tf.function
        def step(x):  # <- retraced
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x @ w) ** 2)
            w.assign_sub(0.01 * tape.gradient(loss, w))
            return loss

        step(x)
        step(x)


main()
