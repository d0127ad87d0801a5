# expects: retraced
"""A trainer passes a new settings object to its step in each call."""

import tensorflow as tf


class Settings:
    def __init__(self, rate):
        self.rate = rate


class Trainer:
    def __init__(self):
        self.w = tf.Variable(tf.random.normal((64, 64)) * 0.1)

    @tf.function
    def step(self, x, settings):  # <- retraced
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ self.w) ** 2)
        self.w.assign_sub(settings.rate * tape.gradient(loss, self.w))
        return loss


trainer, x = Trainer(), tf.random.normal((64, 64))
for _ in range(60):
    trainer.step(x, Settings(0.01))
