# expects: saving
# may: between-steps, small-batches
"""A model is saved after every few batches."""

import os
import tempfile

import keras
import numpy as np

folder = tempfile.mkdtemp()
net = keras.Sequential(
    [keras.Input((64,)), keras.layers.Dense(1024), keras.layers.Dense(1024), keras.layers.Dense(1)]
)
net.compile("adam", "mse")
x, y = np.random.rand(64, 64).astype("float32"), np.random.rand(64, 1).astype("float32")
for number in range(40):
    net.train_on_batch(x, y)
    net.save(os.path.join(folder, f"{number}.keras"))  # <- saving
print("done")
