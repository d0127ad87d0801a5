# expects: between-steps
"""A user callback calls the model, and computes a confusion matrix in Python."""

import keras
import numpy as np


class Confusion(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        found = np.argmax(self.model(x[:500], training=False).numpy(), 1)  # <- between-steps
        self.counts = [
            [int(np.sum((found == i) & (y[:500] == j))) for i in range(10)] for j in range(10)
        ]  # <- between-steps


x, y = np.random.rand(3000, 64).astype("float32"), np.random.randint(0, 10, 3000)
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, batch_size=32, epochs=4, verbose=0, callbacks=[Confusion()])
