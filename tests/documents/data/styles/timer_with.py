import time

import tensorflow as tf


class Timer:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *details):
        print(self.name, time.perf_counter() - self.start)


signal = tf.random.normal((16, 44100))
spectrum = tf.signal.stft(signal, 1024, 256)

with Timer("bound"):
    copy = signal

with Timer("stft"):
    spectrum = tf.signal.stft(signal, 1024, 256)

with Timer("stft and wait"):
    spectrum = tf.signal.stft(signal, 1024, 256)
    spectrum.numpy()
