# expects:
import keras
import numpy as np
import tensorflow as tf

x, y = np.random.rand(2000, 32, 32, 3).astype("float32"), np.random.randint(0, 10, 2000)
data = tf.data.Dataset.from_tensor_slices((x, y)).cache().shuffle(2000).batch(50)
data = data.map(lambda a, b: (a * 2.0 - 1.0, b), num_parallel_calls=tf.data.AUTOTUNE).prefetch(
    tf.data.AUTOTUNE
)
model = keras.Sequential(
    [
        keras.Input((32, 32, 3)),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(data, epochs=2, verbose=2)
