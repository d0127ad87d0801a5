# expects:
"""A whole epoch is one tf.function: its loop over the dataset runs in the graph."""

import tensorflow as tf

layers = tf.keras.layers
model = tf.keras.Sequential(
    [tf.keras.Input((64,)), layers.Dense(512, "relu"), layers.Dense(512, "relu"), layers.Dense(10)]
)
optimizer = tf.keras.optimizers.Adam()
optimizer.build(model.trainable_variables)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def epoch(batches):
    total = 0.0
    for x, y in batches:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        total += loss
    return total


x, y = tf.random.normal((3200, 64)), tf.random.uniform((3200,), maxval=10, dtype=tf.int32)
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(64).prefetch(2)
for number in range(15):
    print(number, float(epoch(data)))
