"""A function whose pace the emulation sets: see device/paced.c."""

import tensorflow as tf


def paced(elements: int = 1000):
    """One op on so many elements: nanoseconds an element on the CPU, one kernel's time on the GPU."""
    return tf.math.digamma, (tf.ones((elements,)).numpy(),)
