# expects: read-each-step
"""The program prints the loss in each step, so it waits for the loss."""

import tensorflow as tf

x = tf.random.normal((64, 64))


@tf.function
def step(x):
    for _ in range(10):
        x = tf.nn.relu(x @ x * 1e-2)
    return x, tf.reduce_sum(x)


total = 0.0
for _ in range(400):
    x, loss = step(x)
    total += float(loss)  # <- read-each-step
print(total)
