# expects:
"""Two functions alternate."""

import tensorflow as tf

g = tf.Variable(tf.random.normal((128, 512)) * 0.05)
d = tf.Variable(tf.random.normal((512, 256)) * 0.05)


@tf.function
def train_discriminator(noise, real):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.relu(noise @ g @ d)) - tf.reduce_mean(tf.nn.relu(real @ d))
    d.assign_sub(0.01 * tape.gradient(loss, d))
    return loss


@tf.function
def train_generator(noise):
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(tf.nn.relu(noise @ g @ d))
    g.assign_sub(0.01 * tape.gradient(loss, g))
    return loss


real = tf.random.normal((256, 512))
for _ in range(200):
    noise = tf.random.normal((256, 128))
    train_discriminator(noise, real)
    train_generator(noise)
