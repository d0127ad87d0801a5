# expects:
"""A custom loop as in TensorFlow's guides."""

import tensorflow as tf

data = tf.data.Dataset.from_tensor_slices((tf.random.normal((2048, 128)), tf.random.normal((2048, 1))))
data = (
    data.shuffle(2048).repeat().batch(64).map(lambda x, y: (x * 2.0, y), num_parallel_calls=tf.data.AUTOTUNE)
)
data = data.prefetch(tf.data.AUTOTUNE)
w = tf.Variable(tf.random.normal((128, 512)) * 0.05)
v = tf.Variable(tf.random.normal((512, 1)) * 0.05)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        h = tf.nn.relu(x @ w)
        for _ in range(10):
            h = tf.nn.relu(h + h @ tf.transpose(w) @ w * 1e-3)
        loss = tf.reduce_mean((h @ v - y) ** 2)
    for each, gradient in zip([w, v], tape.gradient(loss, [w, v])):
        each.assign_sub(0.001 * gradient)
    return loss


for number, (x, y) in enumerate(data.take(600)):
    loss = step(x, y)
    if number % 100 == 0:
        print(number, float(loss))
