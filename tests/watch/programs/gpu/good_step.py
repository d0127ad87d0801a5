# expects:
"""Matrix products keep the GPU busy. The host reads a result once in a hundred steps."""

import tensorflow as tf

x = tf.random.normal((256, 256))
w = tf.Variable(tf.random.normal((256, 256)) * 0.01)


@tf.function
def step(x):
    for _ in range(6):
        x = tf.nn.relu(x @ w + 0.1)
    return x


for number in range(2000):
    y = step(x)
    if number % 100 == 0:
        print(float(tf.reduce_sum(y)))
