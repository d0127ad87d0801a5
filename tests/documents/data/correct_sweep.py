# Where does the GPU overtake the CPU?  A careful sweep over sizes and dtypes.
import sys
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns as clock

import tensorflow as tf

tf.config.set_soft_device_placement(False)


@dataclass
class Setting:
    device: str
    dtype: tf.DType
    side: int


def settings():
    for device in ("/CPU:0", "/GPU:0"):
        for side in (256, 1024):
            yield Setting(device, tf.float32, side)


def measure(step, calls=20, samples=15):
    step()
    out = []
    for _ in range(samples):
        t = clock()
        for _ in range(calls):
            result = step()
        result.numpy()
        out.append((clock() - t) / calls)
    return median(out)


for dtype in (tf.float32, tf.float64):
    for side in (256, 1024):
        with tf.device("/GPU:0"):
            m = tf.random.normal((side, side), dtype=dtype)
            step = tf.function(lambda: tf.matmul(m, m))
            print(dtype.name, side, measure(step), file=sys.stderr)
