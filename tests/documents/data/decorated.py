import functools
import time

import tensorflow as tf

calls = []


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        start = time.monotonic()
        out = fn(*args, **kwargs)
        _ = out.numpy()
        wrapper.elapsed = time.monotonic() - start
        return out

    return wrapper


@tf.function(jit_compile=True)
def chain(x):
    print("in chain", x)
    calls.append(1)
    for _ in range(64):
        x = x + x
    return x


@timed
def run(x):
    return chain(x)


def compiled_each_time(x):
    total = 0.0
    for k in range(100):
        fast = tf.function(lambda v: tf.tanh(v) * 2.0)
        total += float(tf.reduce_sum(fast(x)))
    return total


x = tf.ones([128, 128])
run(x)
run(x)
print(run.elapsed)
print(compiled_each_time(x))
