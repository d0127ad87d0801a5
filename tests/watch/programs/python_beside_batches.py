# expects: between-steps
"""Python handles each batch, and TensorFlow provides only the pipeline."""

import numpy as np
import tensorflow as tf


def spectrum(rows):
    return [sum(abs(value) for value in np.fft.rfft(row)) for row in rows]  # <- between-steps


data = tf.data.Dataset.from_tensor_slices(np.random.rand(40_000, 256).astype("float32")).batch(50).prefetch(2)
found = []
for batch in data:  # <- between-steps
    found.extend(spectrum(batch.numpy()))  # <- between-steps
print(len(found))
