# expects: rebuilt
# may: eager-step, retraced, between-steps
"""An optimizer is created again for each update, and builds its variables each time."""

import keras
import numpy as np
import tensorflow as tf

net = keras.Sequential([keras.Input((8,)), *(keras.layers.Dense(8) for _ in range(12))])
x = np.random.rand(16, 8).astype("float32")
for _ in range(60):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(net(x) ** 2)
    optimizer = keras.optimizers.Adam(1e-3)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))  # <- rebuilt
print("done")
