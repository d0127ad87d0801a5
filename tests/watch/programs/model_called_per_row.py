# expects: eager-step
# may: read-each-step
"""A model is called for one row at a time."""

import keras
import numpy as np

net = keras.Sequential([keras.Input((8,)), *(keras.layers.Dense(32, activation="relu") for _ in range(6))])
rows = np.random.rand(600, 8).astype("float32")
total = 0.0
for row in rows:
    total += float(net(row[None], training=False)[0, 0])  # <- eager-step
print(total == total)
