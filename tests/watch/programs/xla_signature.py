# expects: xla-recompiles
"""A compiled function has an open signature. It is traced once, but XLA compiles it for each new length."""

import tensorflow as tf

weights = tf.random.normal([32, 32])


@tf.function(input_signature=[tf.TensorSpec([None, 32])], jit_compile=True)
def encode(x):  # <- xla-recompiles
    for _ in range(4):
        x = tf.sin(x @ weights)
    return tf.reduce_mean(x)


for length in range(3, 43):
    encode(tf.zeros([length, 32]))
print("done")
