# expects: input-bound
"""A keras.utils.PyDataset reads slowly, on one thread."""

import time

import keras
import numpy as np


class Reader(keras.utils.PyDataset):
    def __len__(self):
        return 100

    def __getitem__(self, number):
        time.sleep(0.02)
        return np.ones((16, 32), "float32"), np.ones((16, 1), "float32")


model = keras.Sequential(
    [keras.Input((32,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)]
)
model.compile("adam", "mse")
model.fit(Reader(), epochs=1, verbose=0)  # <- input-bound
