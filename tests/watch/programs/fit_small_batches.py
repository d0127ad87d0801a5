# expects: small-batches
"""A small model is trained with batches of eight."""

import keras
import numpy as np

model = keras.Sequential(
    [
        keras.Input((32,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse")
x, y = np.random.rand(24000, 32).astype("float32"), np.random.rand(24000, 1).astype("float32")

model.fit(x, y, batch_size=8, epochs=2, verbose=2)  # <- small-batches
