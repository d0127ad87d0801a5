"""Latency of a small network."""
import time

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([
    tf.keras.Input((28, 28, 1)),
    tf.keras.layers.Conv2D(8, 3),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(10),
])
images = np.random.rand(100, 28, 28, 1).astype("float32")

latencies = []
for image in images:
    start = time.process_time()
    model.predict(image[None], verbose=0)
    latencies.append(time.process_time() - start)
print("mean latency:", np.mean(latencies))
