# expects: retraced
"""Two functions alternate, and one receives the number of the step."""

import tensorflow as tf

g = tf.Variable(tf.random.normal((32, 64)) * 0.1)
d = tf.Variable(tf.random.normal((64, 1)) * 0.1)


@tf.function
def train_discriminator(noise, real):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(noise @ g @ d) - tf.reduce_mean(real @ d)
    d.assign_sub(0.01 * tape.gradient(loss, d))
    return loss


@tf.function
def train_generator(noise, number):  # <- retraced
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(noise @ g @ d) * (0.99**number)
    g.assign_sub(0.01 * tape.gradient(loss, g))
    return loss


for number in range(120):
    noise = tf.random.normal((64, 32))
    train_discriminator(noise, tf.random.normal((64, 64)))
    train_generator(noise, number)
