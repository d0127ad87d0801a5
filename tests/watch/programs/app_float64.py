# expects: float64
"""A Keras application uses float64 because of a setting at the top."""

import keras
import numpy as np

keras.config.set_floatx("float64")
model = keras.applications.MobileNetV2(input_shape=(96, 96, 3), weights=None, classes=10, alpha=0.35)
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy())
x, y = np.random.rand(96, 96, 96, 3), np.random.randint(0, 10, 96)
model.fit(x, y, batch_size=8, epochs=4, verbose=0)  # <- float64
