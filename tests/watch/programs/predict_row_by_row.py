# expects: between-steps
"""The program calls predict() for one row at a time, and each call creates a pipeline."""

import keras
import numpy as np

model = keras.Sequential(
    [keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(4)]
)
found = []
for row in np.random.rand(150, 16).astype("float32"):
    found.append(model.predict(row[None, :], verbose=0))  # <- between-steps
print(np.concatenate(found).shape)
