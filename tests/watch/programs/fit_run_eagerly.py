# expects: eager-step
import keras
import numpy as np

model = keras.Sequential(
    [keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
)
model.compile("adam", "mse", run_eagerly=True)  # <- eager-step
x, y = np.random.rand(2048, 16).astype("float32"), np.random.rand(2048, 1).astype("float32")
model.fit(x, y, batch_size=16, epochs=1, verbose=0)
