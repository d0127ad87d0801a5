# expects: between-steps
# may: small-batches
"""After a short training run, a helper predicts one sample at a time, which takes most of the time."""

import keras
import numpy as np

net = keras.Sequential([keras.Input((10,)), keras.layers.Dense(20, activation="tanh"), keras.layers.Dense(2)])
net.compile("sgd", "mse")
samples = np.random.rand(2_000, 10).astype("float32")
net.fit(samples, np.zeros((2_000, 2), "float32"), batch_size=50, epochs=1, verbose=0)


def answer(sample):
    return net.predict(sample[None], verbose=0)  # <- between-steps


total = 0.0
for sample in samples[:80]:
    total += float(answer(sample)[0, 0])
print(total == total)
