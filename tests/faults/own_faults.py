"""User functions that fail in different ways, for the real worker."""

import os
import random
import re
import signal
import time

import tensorflow as tf

AFTER = 40


def _failing(fail, in_graphs=False):
    """Return a step that fails after some calls or, with `in_graphs`, while it is traced."""
    calls = [0]
    one = tf.ones((8, 8))

    def step():
        calls[0] += 1
        if in_graphs if tf.inside_function() else calls[0] > AFTER:
            fail()
        return tf.matmul(one, one)

    return step


def no_device_memory(n: int = 4):
    def fail():
        raise tf.errors.ResourceExhaustedError(
            None, None, "OOM when allocating tensor with shape[1099511627776]"
        )

    return _failing(fail, in_graphs=True)


def segfault(n: int = 4):
    """Crash, like an op with a broken kernel."""
    return _failing(lambda: os.kill(os.getpid(), signal.SIGSEGV), in_graphs=True)


def hang(n: int = 4):
    return _failing(lambda: time.sleep(600))


def hang_hard(n: int = 4):
    """Match a regular expression, which takes years and never releases the interpreter lock."""
    return _failing(lambda: re.match(r"(a+)+$", "a" * 60 + "b"))


def sound(n: int = 4):
    return _failing(lambda: None)


def restless(n: int = 4):
    """Take a different time in each call, so that a run lasts as long as its budget allows."""
    return _failing(lambda: time.sleep(random.uniform(0.005, 0.03)))
