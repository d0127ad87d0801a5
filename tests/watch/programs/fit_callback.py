# expects: between-steps
"""A user callback is slow after each batch."""

import time

import keras
import numpy as np


class Logger(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.005)  # <- between-steps


model = keras.Sequential(
    [keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
)
model.compile("adam", "mse")
x, y = np.random.rand(6400, 16).astype("float32"), np.random.rand(6400, 1).astype("float32")
model.fit(x, y, batch_size=32, epochs=1, verbose=0, callbacks=[Logger()])
