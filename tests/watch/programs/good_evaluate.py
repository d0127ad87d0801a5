# expects:
import keras
import numpy as np

model = keras.Sequential(
    [
        keras.Input((64,)),
        *[keras.layers.Dense(512, activation="relu") for _ in range(4)],
        keras.layers.Dense(1),
    ]
)
model.compile("adam", "mse")
x, y = np.random.rand(40000, 64).astype("float32"), np.random.rand(40000, 1).astype("float32")
for _ in range(3):
    print(model.evaluate(x, y, batch_size=256, verbose=0))
