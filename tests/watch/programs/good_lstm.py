# expects:
import keras
import numpy as np

model = keras.Sequential([keras.Input((40, 16)), keras.layers.LSTM(64), keras.layers.Dense(1)])
model.compile("adam", "mse")
x, y = np.random.rand(1280, 40, 16).astype("float32"), np.random.rand(1280, 1).astype("float32")
model.fit(x, y, batch_size=64, epochs=2, verbose=0)
