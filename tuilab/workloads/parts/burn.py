"""Adds real host work per element: inflates zlib blocks in one thread, never on a GPU.

A sleep inside `Dataset.map` would run only once, during tracing, and Python code would hold the GIL.
Inflating a block has neither problem. The number of bytes is calibrated on this machine to reach the
requested duration, and the actual duration is measured.
"""

import statistics
import time
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

CHUNK_BYTES = 8 * 2**10
"""Size of an inflated block in bytes, small enough for the allocator to reuse the memory."""
PROBES = 25
TRIES = 4
CLOSE = 0.03


@dataclass(frozen=True)
class Burn:
    """Compressed blocks that one thread inflates in `cost_s` seconds, as measured."""

    blocks: Any
    inflated: Any
    cost_s: float

    def apply(self, tf: Any, value: Any) -> Any:
        """Return `value` unchanged after inflating the blocks; for use in a mapped function."""
        data = tf.io.decode_compressed(self.blocks, compression_type="ZLIB")
        # The sum is zero, but the optimizer cannot know that; otherwise, it would drop the unused work.
        zero = tf.reduce_sum(tf.strings.length(data)) - self.inflated
        return value + tf.cast(zero, value.dtype)


@cache
def burn(tf: Any, cost_us: int) -> Burn | None:
    """Return blocks that together take one thread `cost_us` microseconds to inflate; None for a cost of 0."""
    if cost_us == 0:
        return None
    data = _random_text(CHUNK_BYTES)
    empty = _inflate_s(tf, [data[:1]])
    per_byte = (_inflate_s(tf, [data] * 16) - empty) / (16 * CHUNK_BYTES)
    wanted = cost_us * 1e-6
    length = wanted / per_byte
    chunks, cost = [data[:1]], 0.0
    for _ in range(TRIES):
        whole, rest = divmod(max(1, round(length)), CHUNK_BYTES)
        chunks = [data] * whole + ([data[:rest]] if rest else [])
        cost = max(1e-7, _inflate_s(tf, chunks) - empty)
        if abs(cost / wanted - 1) <= CLOSE:
            break
        length *= min(4.0, max(0.25, wanted / cost))
    with tf.device("/CPU:0"):
        inflated = tf.constant(sum(map(len, chunks)), tf.int32)
        return Burn(tf.constant([zlib.compress(chunk, 1) for chunk in chunks]), inflated, cost)


def _random_text(length: int) -> bytes:
    """Return bytes with four random bits each. They compress by half, so inflating them takes work."""
    import numpy as np

    return np.random.default_rng(0).integers(0, 16, length, np.uint8).tobytes()


def _inflate_s(tf: Any, chunks: list[bytes]) -> float:
    """Return the seconds that one eager op takes to inflate the chunks.

    Uses the lower quartile of 25 calls, because other load can only add time.
    """
    with tf.device("/CPU:0"):
        blocks = tf.constant([zlib.compress(chunk, 1) for chunk in chunks])
        times = []
        for _ in range(PROBES):
            begun = time.perf_counter()
            tf.io.decode_compressed(blocks, compression_type="ZLIB")
            times.append(time.perf_counter() - begun)
    return statistics.quantiles(times, n=4)[0]
