# expects:
"""The loss is accumulated outside the step with one op, and printed now and then."""

import tensorflow as tf

layers = tf.keras.layers
model = tf.keras.Sequential(
    [tf.keras.Input((64,)), layers.Dense(512, "relu"), layers.Dense(512, "relu"), layers.Dense(10)]
)
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


x, y = tf.random.normal((6400, 64)), tf.random.uniform((6400,), maxval=10, dtype=tf.int64)
batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(6400).batch(128).prefetch(tf.data.AUTOTUNE)
for epoch in range(8):
    total = 0.0
    for step, (a, b) in enumerate(batches):
        total += train_step(a, b)
        if step % 20 == 0:
            print(epoch, step, float(total) / (step + 1))
