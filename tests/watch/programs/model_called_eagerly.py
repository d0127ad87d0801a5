# expects: eager-step
"""A model is called batch by batch, outside any tf.function."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

model = keras.Sequential(
    [
        keras.Input((32, 32, 3)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10),
    ]
)
images = np.random.rand(512, 32, 32, 3).astype("float32")
found = []
for batch in tf.data.Dataset.from_tensor_slices(images).batch(4).repeat(4).prefetch(2):
    logits = model(batch, training=False)  # <- eager-step
    found.append(tf.argmax(logits, -1))
print(tf.concat(found, 0).shape)
