# expects:
"""A model is trained, compiled again with more trainable layers, and trained again."""

import tensorflow as tf

base = tf.keras.applications.MobileNetV2(input_shape=(64, 64, 3), alpha=0.35, include_top=False, weights=None)
base.trainable = False
model = tf.keras.Sequential([base, tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(5)])
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
x, y = tf.random.uniform((320, 64, 64, 3)), tf.random.uniform((320,), maxval=5, dtype=tf.int32)
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(320).batch(16).prefetch(2)
model.compile("adam", loss)
model.fit(data, epochs=2, verbose=0)
base.trainable = True
model.compile(tf.keras.optimizers.Adam(1e-5), loss)
model.fit(data, epochs=2, verbose=0, validation_data=data.take(5))
