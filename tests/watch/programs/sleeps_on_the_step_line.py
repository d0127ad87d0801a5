# expects: between-steps
"""The line that calls the step also waits, so samples do not tell the two apart."""

import time

import tensorflow as tf

x = tf.random.normal((300, 300))


@tf.function
def step(v):
    return tf.reduce_sum(v @ v)


for _ in range(400):
    step(x), time.sleep(0.008)  # <- between-steps
