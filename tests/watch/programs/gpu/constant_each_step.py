# expects: numpy-fed
"""An array becomes a tensor in each step."""

import numpy as np
import tensorflow as tf

table = np.zeros((2048, 512), "float32")


@tf.function
def step(x):
    return tf.reduce_max(x)


for number in range(400):
    step(tf.constant(table))  # <- numpy-fed
print("done")
