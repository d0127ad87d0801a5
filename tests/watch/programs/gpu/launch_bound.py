# expects: launch-bound
# short kernels
"""A loop runs ops on a few numbers. Each op finishes before the next one is launched."""

import tensorflow as tf

x = tf.random.normal((2, 2))


@tf.function
def step(x):  # <- launch-bound
    for _ in tf.range(100):
        x = tf.nn.relu(x * 0.99)
    return x


for number in range(200):
    x = step(x)
    if number % 10 == 0:
        print(float(x[0, 0]))
