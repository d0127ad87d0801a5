# expects: gpu-unused
# gpus: 2
"""Only one of two GPUs computes."""

import tensorflow as tf

x = tf.random.normal((256, 256))


@tf.function
def step(x):  # <- gpu-unused
    for _ in range(4):
        x = tf.nn.relu(x @ x * 1e-3)
    return x


for number in range(300):
    x = step(x)
    if number % 10 == 9:
        x.numpy()  # reads now and then, as programs read their loss, so that the host stays close to the GPU
