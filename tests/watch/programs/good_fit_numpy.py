# expects:
"""A small Keras model is trained on arrays, with validation."""

import keras
import numpy as np

model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
x, y = np.random.rand(4000, 28, 28, 1).astype("float32"), np.random.randint(0, 10, 4000)
model.fit(x, y, batch_size=64, epochs=2, validation_split=0.1, verbose=2)
