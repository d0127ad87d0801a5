# expects:
"""A few large matrix products are computed one by one. Launching them takes hardly any time."""

import tensorflow as tf

x = tf.random.normal((900, 900))
for _ in range(120):
    x = tf.nn.relu(tf.matmul(x, x) * 1e-2)
print(float(tf.reduce_sum(x)))
