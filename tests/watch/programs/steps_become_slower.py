# expects: slowing
# may: between-steps, read-each-step
"""After every step, the program reads the whole of a growing history."""

import tensorflow as tf

weights = tf.Variable(tf.ones((64, 64)))
x = tf.ones((64, 64))


@tf.function
def step(x):  # <- slowing
    return tf.reduce_mean(x @ weights)


history = []
for number in range(900):
    history.append(float(step(x)))
    mean = sum(value * value for _ in range(12) for value in history for _ in range(12)) / len(history)
print(mean)
