# expects:
import keras
import numpy as np

model = keras.Sequential(
    [
        keras.Input((64,)),
        *[keras.layers.Dense(512, activation="relu") for _ in range(6)],
        keras.layers.Dense(10),
    ]
)
print(model.predict(np.random.rand(20000, 64).astype("float32"), batch_size=256, verbose=0).shape)
