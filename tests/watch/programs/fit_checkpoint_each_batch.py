# expects: between-steps
# may: saving
"""Keras saves a checkpoint after every batch."""

import tempfile

import keras
import numpy as np

folder = tempfile.mkdtemp()
model = keras.Sequential(
    [keras.Input((64,)), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(1)]
)
model.compile("adam", "mse")
x, y = np.random.rand(3200, 64).astype("float32"), np.random.rand(3200, 1).astype("float32")
keep = keras.callbacks.ModelCheckpoint(folder + "/model.keras", save_freq=1)
model.fit(x, y, batch_size=64, epochs=1, verbose=0, callbacks=[keep])  # <- between-steps
