# expects: eager-step
"""Individual ops compute features of recordings, without a gradient, a dataset or a tf.function."""

import numpy as np
import tensorflow as tf


def features(x):
    spectrum = tf.abs(tf.signal.stft(x, 256, 128))
    mel = tf.signal.linear_to_mel_weight_matrix(40, 129, 16000)
    log = tf.math.log(tf.matmul(spectrum, mel) + 1e-6)
    return log - tf.reduce_mean(log, axis=1, keepdims=True)


def main():
    random = np.random.default_rng(0)
    total = tf.constant(0.0)
    for _ in range(500):
        recording = random.standard_normal((4, 4096)).astype("float32")
        total = total + tf.reduce_mean(features(tf.constant(recording)))  # <- eager-step
    print(float(total))


main()
