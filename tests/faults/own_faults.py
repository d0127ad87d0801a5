"""A person's own functions, each of which goes wrong in its own way: measured by the real worker."""

import os
import random
import re
import signal
import time

import tensorflow as tf

AFTER = 40
"""Calls that are well before one is not."""


def _failing(fail, in_graphs=False):
    """A step that fails after some calls, and if `in_graphs` while it is traced."""
    calls = [0]
    one = tf.ones((8, 8))

    def step():
        calls[0] += 1
        if in_graphs if tf.inside_function() else calls[0] > AFTER:
            fail()
        return tf.matmul(one, one)

    return step


def no_device_memory(n: int = 4):
    """As TensorFlow says that a device is full."""

    def fail():
        raise tf.errors.ResourceExhaustedError(
            None, None, "OOM when allocating tensor with shape[1099511627776]"
        )

    return _failing(fail, in_graphs=True)


def segfault(n: int = 4):
    """As an op with a broken kernel does."""
    return _failing(lambda: os.kill(os.getpid(), signal.SIGSEGV), in_graphs=True)


def hang(n: int = 4):
    """Waits for something that never comes."""
    return _failing(lambda: time.sleep(600))


def hang_hard(n: int = 4):
    """A match that takes years, and never lets go of the interpreter."""
    return _failing(lambda: re.match(r"(a+)+$", "a" * 60 + "b"))


def sound(n: int = 4):
    """Nothing is wrong with it."""
    return _failing(lambda: None)


def restless(n: int = 4):
    """Never takes the same time twice, so that a run goes on as long as its budget lets it."""
    return _failing(lambda: time.sleep(random.uniform(0.005, 0.03)))
