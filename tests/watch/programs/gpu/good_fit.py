# expects:
"""Keras' `fit` over a prefetched dataset."""

import tensorflow as tf

x, y = tf.random.normal((2048, 64)), tf.random.uniform((2048,), maxval=10, dtype=tf.int32)
data = tf.data.Dataset.from_tensor_slices((x, y)).cache().repeat().batch(128).prefetch(tf.data.AUTOTUNE)
hidden = [tf.keras.layers.Dense(256, "relu") for _ in range(4)]
model = tf.keras.Sequential([tf.keras.Input((64,)), *hidden, tf.keras.layers.Dense(10)])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("sgd", loss, jit_compile=False)  # the emulated GPU has no XLA
model.fit(data, steps_per_epoch=150, epochs=2, verbose=0)
