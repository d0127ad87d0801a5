"""STFT on two devices, as a class."""
import time

import tensorflow as tf


class Spectrogram:
    FRAME = 1024

    def __init__(self, seconds=2, rate=16_000, hop=None):
        self.rate = rate
        self.length = seconds * rate
        self.hop = hop or self.FRAME // 4
        self.signal = tf.random.normal([4, self.length])

    def transform(self):
        return tf.signal.stft(self.signal, self.FRAME, self.hop, window_fn=tf.signal.hamming_window)


class Stopwatch:
    def __enter__(self):
        self.began = time.time()
        return self

    def __exit__(self, *exc):
        self.took = time.time() - self.began


class Race:
    def __init__(self, job, rounds=50):
        self.job = job
        self.rounds = rounds

    def run(self, device):
        with tf.device(device):
            with Stopwatch() as watch:
                for _ in range(self.rounds):
                    self.job.transform()
        return watch.took / self.rounds


if __name__ == "__main__":
    race = Race(Spectrogram())
    print("CPU", race.run("CPU:0"))
    print("GPU", race.run("GPU:0"))
