import time

import numpy as np
import tensorflow as tf


@tf.function(jit_compile=True)
def layer(x, w):
    return tf.nn.relu(x @ w)


def measure(n, rounds=30):
    x, w = tf.random.normal((n, n)), tf.random.normal((n, n))
    for _ in range(3):
        layer(x, w)
    tf.test.experimental.sync_devices()
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        layer(x, w)
        tf.test.experimental.sync_devices()
        samples.append(time.perf_counter() - start)
    return np.median(samples)


for n in (256, 512, 1024):
    print(n, measure(n))
