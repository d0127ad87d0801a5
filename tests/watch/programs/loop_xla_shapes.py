# expects: xla-recompiles
"""XLA compiles the function again for each shape."""

import tensorflow as tf

w = tf.Variable(tf.random.normal((64, 64)) * 0.1)


@tf.function(jit_compile=True)
def step(x):  # <- xla-recompiles
    return tf.reduce_mean(tf.nn.relu(x @ w) ** 2)


for n in range(10, 50):
    for _ in range(3):
        step(tf.ones((n, 64)))
