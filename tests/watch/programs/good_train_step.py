# expects:
"""A model with a custom training step."""

import keras
import numpy as np
import tensorflow as tf


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.a = keras.layers.Dense(512, activation="relu")
        self.b = keras.layers.Dense(1)

    def call(self, x):
        return self.b(self.a(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


model = Model()
model.compile("adam")
x, y = np.random.rand(12800, 256).astype("float32"), np.random.rand(12800, 1).astype("float32")
model.fit(x, y, batch_size=128, epochs=3, verbose=0)
