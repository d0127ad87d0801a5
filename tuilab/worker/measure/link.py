"""Measures the time of copies between two devices as α + bytes / β."""

import functools
from typing import Any

from tuilab.analysis.phases import CopyCost, copy_cost
from tuilab.model.quantity import seconds, size
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.workloads.parts.device import move_to

SIZES = tuple(4**power for power in range(8, 14))
"""Sizes of the test copies in bytes, from 64 KiB to 64 MiB."""

TRIES = 10


def measure_link(tf: Any, stopwatch: Stopwatch, source: str, target: str) -> CopyCost:
    """Time synchronized copies from one device to another (`/CPU:0`, `/GPU:0`). The fastest of ten copies of
    each size counts.
    """
    times = []
    for count in SIZES:
        with tf.device(source):
            tensor = tf.identity(tf.zeros((count // 4,), tf.float32))
        copy = functools.partial(move_to, tf, tensor, target)
        times.append(min(stopwatch.time(copy) for _ in range(TRIES)))
    return copy_cost(SIZES, times) or CopyCost(0.0, None, 0.0)


def format_cost(link: CopyCost) -> str:
    """Format the cost as `8.0 µs + 24.1 GB/s`."""
    rate = f"{size(link.bytes_per_s)}/s" if link.bytes_per_s else "no measurable time per byte"
    return f"{seconds(link.latency_s)} + {rate}"
