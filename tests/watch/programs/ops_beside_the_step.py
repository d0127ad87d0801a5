# expects: eager-step
"""The step is a tf.function, but individual ops prepare its batch and compute the metrics."""

import tensorflow as tf

model = tf.keras.Sequential(
    [tf.keras.Input((64,)), tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(10)]
)
optimizer = tf.keras.optimizers.SGD(1e-2)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy = tf.keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_of(y, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return logits


x, y = tf.random.normal((6400, 64)), tf.random.uniform((6400,), maxval=10, dtype=tf.int64)
for epoch in range(6):
    for a, b in tf.data.Dataset.from_tensor_slices((x, y)).batch(32).prefetch(2):
        a = (a - tf.reduce_mean(a, 0)) / (tf.math.reduce_std(a, 0) + 1e-6)  # <- eager-step
        logits = train_step(a, b)
        accuracy.update_state(b, logits)  # <- eager-step
    print(epoch, float(accuracy.result()))
