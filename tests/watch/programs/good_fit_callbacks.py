# expects:
"""A `fit` with validation, early stopping, and a checkpoint per epoch."""

import tempfile

import keras
import numpy as np

model = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(1024, activation="relu"),
        keras.layers.Dense(1024, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse", metrics=["mae"])
x, y = np.random.rand(12800, 64).astype("float32"), np.random.rand(12800, 1).astype("float32")
callbacks = [
    keras.callbacks.EarlyStopping(patience=5),
    keras.callbacks.ModelCheckpoint(tempfile.mkdtemp() + "/best.keras", save_best_only=True),
    keras.callbacks.CSVLogger(tempfile.mkdtemp() + "/log.csv"),
]
model.fit(x, y, batch_size=128, epochs=3, validation_split=0.1, callbacks=callbacks, verbose=0)
