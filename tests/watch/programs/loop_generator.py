# expects: input-bound
"""A custom loop over a Python generator."""

import argparse
import time

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200)
arguments = parser.parse_args()


def samples():
    while True:
        time.sleep(0.006)
        yield np.random.rand(32, 64).astype("float32"), np.random.rand(32, 1).astype("float32")


class Trainer:
    def __init__(self):
        self.w = tf.Variable(tf.random.normal((64, 1)))

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ self.w - y) ** 2)
        self.w.assign_sub(0.01 * tape.gradient(loss, self.w))
        return loss


def main():
    spec = (tf.TensorSpec((32, 64), tf.float32), tf.TensorSpec((32, 1), tf.float32))
    data = tf.data.Dataset.from_generator(samples, output_signature=spec)  # <- input-bound
    trainer = Trainer()
    for number, (x, y) in enumerate(data.prefetch(2)):
        trainer.step(x, y)
        if number >= arguments.steps:
            break


main()
