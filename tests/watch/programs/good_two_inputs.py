# expects:
"""A functional model with two inputs, and a learning rate that a callback lowers."""

import keras
import numpy as np

a, b = keras.Input((64,)), keras.Input((32,))
x = keras.layers.Concatenate()([keras.layers.Dense(512, activation="relu")(a), keras.layers.Dense(512)(b)])
model = keras.Model([a, b], keras.layers.Dense(1)(keras.layers.Dense(512, activation="relu")(x)))
model.compile("adam", "mse")
p, q, y = (np.random.rand(9600, n).astype("float32") for n in (64, 32, 1))
falls = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9)
model.fit([p, q], y, batch_size=96, epochs=3, verbose=0, callbacks=[falls])
