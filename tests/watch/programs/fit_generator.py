# expects: input-bound
"""Keras trains from a Python generator."""

import time

import keras
import numpy as np


def batches():
    while True:
        time.sleep(0.02)
        yield np.random.rand(16, 32).astype("float32"), np.random.rand(16, 1).astype("float32")


model = keras.Sequential(
    [keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)]
)
model.compile("adam", "mse")
model.fit(batches(), steps_per_epoch=100, epochs=1, verbose=0)  # <- input-bound
