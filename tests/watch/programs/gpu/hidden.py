# expects: gpu-hidden
"""A line left over from a debugging session hides the GPU."""

import tensorflow as tf

tf.config.set_visible_devices([], "GPU")  # <- gpu-hidden
x = tf.random.normal((300, 300))


@tf.function
def step(x):
    for _ in range(4):
        x = tf.nn.relu(x @ x * 1e-3)
    return x


for _ in range(200):
    x = step(x)
