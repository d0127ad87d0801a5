# expects: input-elsewhere
"""`fit` with data in memory, and a validation whose generator waits for 30 ms per batch."""

import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.standard_normal((4000, 64)).astype("float32")
y = (x.sum(1) > 0).astype("int32")


def measured():
    for start in range(0, 640, 32):
        time.sleep(0.03)
        yield x[start : start + 32], y[start : start + 32]


layers = tf.keras.layers
model = tf.keras.Sequential(
    [tf.keras.Input((64,)), layers.Dense(4096, "relu"), layers.Dense(512, "relu"), layers.Dense(2)]
)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
training = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4000).batch(128)
shapes = tf.TensorSpec((None, 64)), tf.TensorSpec((None,), tf.int32)
validation = tf.data.Dataset.from_generator(measured, output_signature=shapes)  # <- input-elsewhere
model.fit(training, epochs=10, validation_data=validation, verbose=2)
