"""Measures the machine's limits: bandwidth, peak FLOP/s, links, and the cost of an empty call.

Every figure is the best of several tries, because a roof is the hardware's maximum, not its average.
"""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from functools import partial
from itertools import cycle, repeat
from typing import Any

import msgspec
import numpy as np
import psutil

from tuilab.analysis.roofline import with_starts
from tuilab.model.arms import MODES, family
from tuilab.model.roofline import AskRoofs, DeviceRoofs, LinkRoof, MemoryRoof, Roofs
from tuilab.worker.build import last_level_cache
from tuilab.worker.context import Context
from tuilab.worker.measure.link import measure_link
from tuilab.worker.measure.stopwatch import Stopwatch, sync_of
from tuilab.worker.selftest.decisions import noise_of
from tuilab.worker.starts import Starts

Check = Callable[[], None]

ITEM = 8
STREAM_ARRAYS, TIMES_CACHE = 3, 4
"""STREAM's rule: use three arrays, each at least four times the total size of the last-level caches."""
MEMORY_SHARE = 8
"""The measurement uses at most one eighth of the host memory."""
SLICES = 4
"""Number of slices into which each array in memory is divided. A pass times one slice, because a short pass
is less likely to be disturbed.
"""
PASS_BYTES = 32 * 2**20
"""Minimum bytes that one timed pass over a cached working set moves."""
SIDES = (1_024, 2_048)
CPU_DTYPES = ("float32", "float64", "bfloat16")
GPU_DTYPES = ("float32", "tf32", "float64", "float16", "bfloat16")
TRIES = 8
CALLS, BLOCKS = 50, 8
"""Empty calls per block, and number of blocks. The fastest block counts."""

NOISE_RUNS = 7
"""Number of runs, about 0.1 s each, that compare a call with itself to measure the noise."""


def roofs(context: Context, body: bytes) -> Iterator[Roofs]:
    found = measure_roofs(context, msgspec.json.decode(body, type=AskRoofs).seconds, context.check_question)
    yield with_starts(found, context.starts)


def measure_roofs(context: Context, seconds: float, check: Check) -> Roofs:
    """Measure the roofs of the processor and each GPU in about `seconds`; slow machines take longer.

    check: raises Cancelled to stop the measurement.
    """
    tf, begun = context.tf, time.monotonic()
    every = Stopwatch(tf.test.experimental.sync_devices)
    devices = roofed(context)
    busy = _Busy()
    memory = {device.name: device.memory for device in context.machine.devices}
    found = {name: _device(tf, name, seconds / len(devices), check, memory.get(name, 0)) for name in devices}
    check()
    noise = noise_of(context, NOISE_RUNS)
    return Roofs(
        machine=context.machine.key,
        at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        seconds=time.monotonic() - begun,
        sync_s=min(every.time(lambda: None) + every.empty_s for _ in range(20)),
        others=busy.others(),
        devices=found,
        least=noise.least(),
    )


def roofed(context: Context) -> list[str]:
    emulated = {device.name for device in context.machine.gpus if device.emulated}
    gpus = [device.name.rpartition("/device:")[2] for device in context.tf.config.list_logical_devices("GPU")]
    return ["CPU:0", *(name for name in gpus if name not in emulated)]


class _Busy:
    def __init__(self) -> None:
        self._all, self._own = psutil.cpu_times(), time.process_time()
        self._begun = time.monotonic()

    def others(self) -> float:
        """Return other processes' share (0 to 1) of all processors since this object was created."""
        now, own = psutil.cpu_times(), time.process_time() - self._own
        whole = (time.monotonic() - self._begun) * (os.cpu_count() or 1)
        idle = sum(getattr(now, f, 0.0) - getattr(self._all, f, 0.0) for f in ("idle", "iowait"))
        return min(1.0, max(0.0, (whole - idle - own) / whole)) if whole > 0 else 0.0


def _device(tf: Any, name: str, seconds: float, check: Check, memory_bytes: int) -> DeviceRoofs:
    """Measure one device's roofs in about `seconds`; half of this time is for matrix products."""
    stopwatch = Stopwatch(sync_of(tf, name))
    if family(name) == "CPU":
        memory, triad = _host_memory(seconds / 3, check)
        peaks = _peaks(tf, stopwatch, name, CPU_DTYPES, seconds / 2, check)
        link = None
    else:
        memory, triad = _gpu_memory(tf, stopwatch, name, memory_bytes)
        peaks = _peaks(tf, stopwatch, name, GPU_DTYPES, seconds / 2, check)
        link = _link(tf, stopwatch, name)
    starts = Starts(tf, name)
    for mode in MODES:
        check()
        starts.sample(mode, stopwatch, CALLS, BLOCKS)
    return DeviceRoofs(
        memory=memory, triad=triad, peaks=peaks, launch_s=starts.launch_s, copied_s=starts.copied_s, link=link
    )


def _best(run: Callable[[], object], seconds: float, check: Check, least: int = 3) -> float:
    best, begun, tries = float("inf"), time.perf_counter(), 0
    while tries < least or time.perf_counter() - begun < seconds:
        check()
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        tries += 1
    return best


# Host memory


def _host_memory(seconds: float, check: Check) -> tuple[tuple[MemoryRoof, ...], float]:
    """Return the bandwidth of each cache and of memory, and the memory bandwidth as STREAM measures it, in
    bytes per second. Uses all processors.
    """
    threads, cache = len(os.sched_getaffinity(0)), last_level_cache()
    wanted = STREAM_ARRAYS * TIMES_CACHE * cache
    largest = min(wanted, psutil.virtual_memory().available // MEMORY_SHARE)
    sets = [16 * 1_024 * threads, 256 * 1_024 * threads, cache // 2]
    sets = [each for each in sets if each < largest // 2] + [largest]
    share = seconds / (3 * len(sets))
    found = []
    # Each thread has its own arrays and touches them first, so that their memory is local to it.
    with ThreadPoolExecutor(threads) as pool:
        for working_set in sets:
            count = max(64, working_set // (STREAM_ARRAYS * ITEM * threads))
            again = max(1, PASS_BYTES // (STREAM_ARRAYS * ITEM * threads * count))
            slices = SLICES if working_set == largest else 1
            parts = list(pool.map(_Arrays, repeat(count, threads), repeat(again), repeat(slices)))
            moved_bytes = count // slices * ITEM * again * threads
            add, copy, read = (
                arrays * moved_bytes / _best(partial(_everywhere, pool, step, parts), share, check)
                for arrays, step in ((3, _Arrays.add), (2, _Arrays.copy), (2, _Arrays.read))
            )
            found.append(MemoryRoof(int(working_set), max(add, copy, read)))
    # STREAM's Add moves as many bytes as its Triad, and NumPy has no fused multiply-add.
    return tuple(found), add


def _everywhere(pool: ThreadPoolExecutor, step: "Callable[[_Arrays], None]", parts: "list[_Arrays]") -> None:
    for _ in pool.map(step, parts):
        pass


class _Arrays:
    """One thread's three arrays. Each NumPy call covers one slice; a small slice is repeated many times."""

    def __init__(self, count: int, again: int, slices: int) -> None:
        length = count // slices
        # With a stride of zero, one NumPy call repeats the same elements, without the overhead of more calls.
        strided = np.lib.stride_tricks.as_strided
        whole = [np.full(count, value) for value in (0.0, 1.0, 2.0)]
        pieces = [
            tuple(strided(x[at * length :], (again, length), (0, ITEM)) for x in whole)
            for at in range(slices)
        ]
        self._next = cycle(pieces).__next__

    def add(self) -> None:
        a, b, c = self._next()
        np.add(b, c, out=a)

    def copy(self) -> None:
        a, b, _ = self._next()
        np.copyto(a, b)

    def read(self) -> None:
        _, b, c = self._next()
        np.maximum.reduce(b, axis=1)
        np.maximum.reduce(c, axis=1)


# GPU memory and link.


def array_bytes(memory: int) -> int:
    """Return the array size in bytes for measuring the bandwidth of a GPU with `memory` bytes.

    Reading the array must take much longer than starting a call. On an H100 with arrays of 64 MiB, starting
    the call took 120 µs, longer than the kernel ran.
    """
    return max(64 * 2**20, min(2 * 2**30, memory // 64))


def _gpu_memory(
    tf: Any, stopwatch: Stopwatch, name: str, memory: int
) -> tuple[tuple[MemoryRoof, ...], float]:
    count = array_bytes(memory) // 4
    with tf.device(f"/{name}"):
        b, c = tf.fill((count,), 1.0), tf.fill((count,), 2.0)
        try:
            fused = tf.function(lambda x, y: x + 3.0 * y, jit_compile=True)
            fused(b, c)
        # XLA does not support this device, so use STREAM's Add, which is a single kernel, instead of its
        # Triad.
        except Exception:
            fused = tf.add
        triad = 12 * count / min(stopwatch.time(lambda: fused(b, c)) for _ in range(TRIES))
        copy = 8 * count / min(stopwatch.time(lambda: tf.raw_ops.DeepCopy(x=b)) for _ in range(TRIES))
        read = 4 * count / min(stopwatch.time(lambda: tf.reduce_sum(b)) for _ in range(TRIES))
    return (MemoryRoof(12 * count, max(triad, copy, read)),), triad


def _link(tf: Any, stopwatch: Stopwatch, name: str) -> LinkRoof:
    there = measure_link(tf, stopwatch, "/CPU:0", f"/{name}")
    back = measure_link(tf, stopwatch, f"/{name}", "/CPU:0")
    return LinkRoof(
        latency_s=max(there.latency_s, back.latency_s),
        to_device=there.bytes_per_s,
        to_host=back.bytes_per_s,
    )


# Arithmetic.


def _peaks(
    tf: Any, stopwatch: Stopwatch, name: str, dtypes: tuple[str, ...], seconds: float, check: Check
) -> dict[str, float]:
    found = {}
    for dtype in dtypes:
        try:
            found[dtype] = _peak(tf, stopwatch, name, dtype, seconds / len(dtypes), check)
        except Exception:
            continue
    return found


def _peak(tf: Any, stopwatch: Stopwatch, name: str, dtype: str, seconds: float, check: Check) -> float:
    settings = tf.config.experimental
    before = settings.tensor_float_32_execution_enabled()
    settings.enable_tensor_float_32_execution(dtype == "tf32")
    kind, sync = "float32" if dtype == "tf32" else dtype, sync_of(tf, name)
    sides = SIDES if family(name) == "CPU" else (*SIDES, 4 * SIDES[-1])
    rates: list[float] = []
    try:
        for side in sides:
            if rates and 2 * side**3 / rates[-1] > seconds:
                break  # a small matrix is enough to reach the peak of a slow device
            with tf.device(f"/{name}"):
                x = tf.cast(tf.random.normal((side, side)), kind)
                product = partial(tf.matmul, x, x)
                stopwatch.time(product)
                taken = _best(lambda: (product(), sync()), seconds / len(sides), check)  # noqa: B023
                rates.append(2 * side**3 / taken)
    finally:
        settings.enable_tensor_float_32_execution(before)
    return max(rates)
