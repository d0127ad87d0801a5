# expects: rebuilt
# may: between-steps
"""A model is built and compiled again for each part of the data."""

import keras
import numpy as np

x = np.random.rand(80, 12).astype("float32")
y = np.zeros((80, 1), "float32")
for part in range(10):
    net = keras.Sequential([keras.Input((12,)), keras.layers.Dense(24), keras.layers.Dense(1)])  # <- rebuilt
    net.compile("adam", "mse")
    net.fit(x, y, batch_size=8, epochs=2, verbose=0)
print("done")
