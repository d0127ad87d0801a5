# expects: input-bound, python-in-map
import time

import keras
import numpy as np
import tensorflow as tf


def clean(x):
    time.sleep(0.02)  # as long as a user's NumPy code would take
    return (x - x.mean()).astype("float32")


def prepare(x, y):
    x = tf.numpy_function(clean, [x], tf.float32)
    x.set_shape((16, 28, 28, 1))
    return x, y


x = np.random.rand(256, 28, 28, 1).astype("float32")
y = np.random.randint(0, 10, 256)
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
data = data.map(prepare)  # <- python-in-map, input-bound
model = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Flatten(), keras.layers.Dense(10)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data.repeat(), steps_per_epoch=150, epochs=1, verbose=0)
