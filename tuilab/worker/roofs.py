"""The machine's own roofs: bandwidth, peaks, links, and what a call costs that does nothing.

Every figure is the best of several tries: a roof is what the machine can do, not what it mostly does.
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
import psutil

from tuilab.model.arms import MODES, family
from tuilab.model.roofline import AskRoofs, DeviceRoofs, LinkRoof, MemoryRoof, Roofs
from tuilab.worker.build import empty_call, last_level_cache
from tuilab.worker.context import Context
from tuilab.worker.measure.stopwatch import Stopwatch, sync_of
from tuilab.worker.selftest.decisions import noise_of
from tuilab.workloads.parts.device import moved

ITEM = 8
STREAM_ARRAYS, TIMES_CACHE = 3, 4
"""STREAM's rule: three arrays, each at least four times the size of all last-level caches."""
MEMORY_SHARE = 8
"""At most an eighth of the host memory is taken for it."""
SLICES = 4
"""Memory is gone through slice by slice: on a busy machine a short pass finds a quiet moment sooner."""
PASS_BYTES = 32 * 2**20
"""What one timed pass over a set that fits into a cache moves, at least."""
SIDES = (1_024, 2_048)
"""Of the matrix products that show the peak."""
CPU_DTYPES = ("float32", "float64", "bfloat16")
GPU_DTYPES = ("float32", "tf32", "float64", "float16", "bfloat16")
TRIES = 8
"""Of each pass over a GPU's memory."""
CALLS, BLOCKS = 50, 8
"""Of an empty call: that many in a block, the fastest of that many blocks."""

NOISE_RUNS = 7
"""Of a call against itself, about 0.1 s each."""


def roofs(context: Context, body: bytes) -> Iterator[Roofs]:
    """Answer the question `roofs`: what this machine does at most, measured now."""
    yield measure_roofs(context, msgspec.json.decode(body, type=AskRoofs).seconds)


def measure_roofs(context: Context, seconds: float) -> Roofs:
    """Measure the roofs of the processor and of each GPU, in about that many seconds, more on slow
    machines.
    """
    tf, begun = context.tf, time.monotonic()
    every = Stopwatch(tf.test.experimental.sync_devices)
    devices = roofed(context)
    busy = _Busy()
    found = {name: _device(tf, name, seconds / len(devices)) for name in devices}
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
    """Return the processor and the GPUs that this process opened; emulated ones have no roofs."""
    emulated = {device.name for device in context.machine.gpus if device.emulated}
    gpus = [device.name.rpartition("/device:")[2] for device in context.tf.config.list_logical_devices("GPU")]
    return ["CPU:0", *(name for name in gpus if name not in emulated)]


class _Busy:
    """How much of the processors other processes take meanwhile."""

    def __init__(self) -> None:
        self._all, self._own = psutil.cpu_times(), time.process_time()
        self._begun = time.monotonic()

    def others(self) -> float:
        """Their share (0 … 1) of all processors since the beginning."""
        now, own = psutil.cpu_times(), time.process_time() - self._own
        whole = (time.monotonic() - self._begun) * (os.cpu_count() or 1)
        idle = sum(getattr(now, f, 0.0) - getattr(self._all, f, 0.0) for f in ("idle", "iowait"))
        return min(1.0, max(0.0, (whole - idle - own) / whole)) if whole > 0 else 0.0


def _device(tf: Any, name: str, seconds: float) -> DeviceRoofs:
    """The roofs of one device in about that many seconds: a third for memory, half for products."""
    stopwatch = Stopwatch(sync_of(tf, name))
    if family(name) == "CPU":
        memory, triad = _host_memory(seconds / 3)
        peaks = _peaks(tf, stopwatch, name, CPU_DTYPES, seconds / 2)
        link = None
    else:
        memory, triad = _gpu_memory(tf, stopwatch, name)
        peaks = _peaks(tf, stopwatch, name, GPU_DTYPES, seconds / 2)
        link = _link(tf, stopwatch, name)
    launch, copied = _launches(tf, stopwatch, name)
    return DeviceRoofs(memory=memory, triad=triad, peaks=peaks, launch_s=launch, copied_s=copied, link=link)


def _best(run: Callable[[], object], seconds: float, least: int = 3) -> float:
    """The shortest of as many runs as fit into the time, in seconds."""
    best, begun, tries = float("inf"), time.perf_counter(), 0
    while tries < least or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        tries += 1
    return best


# The host's memory.


def _host_memory(seconds: float) -> tuple[tuple[MemoryRoof, ...], float]:
    """Bytes per second in memory and in the caches, by all processors together; and the triad's in memory."""
    import numpy as np

    threads, cache = len(os.sched_getaffinity(0)), last_level_cache()
    wanted = STREAM_ARRAYS * TIMES_CACHE * cache
    largest = min(wanted, psutil.virtual_memory().available // MEMORY_SHARE)
    sets = [16 * 1_024 * threads, 256 * 1_024 * threads, cache // 2]
    sets = [each for each in sets if each < largest // 2] + [largest]
    share = seconds / (3 * len(sets))
    found = []
    # The arrays of each thread are its own, first touched by it.
    with ThreadPoolExecutor(threads) as pool:
        for working_set in sets:
            count = max(64, working_set // (STREAM_ARRAYS * ITEM * threads))
            again = max(1, PASS_BYTES // (STREAM_ARRAYS * ITEM * threads * count))
            slices = SLICES if working_set == largest else 1
            parts = list(pool.map(_Arrays, repeat(np, threads), repeat(count), repeat(again), repeat(slices)))
            moved_bytes = count // slices * ITEM * again * threads
            add, copy, read = (
                arrays * moved_bytes / _best(partial(_everywhere, pool, step, parts), share)
                for arrays, step in ((3, _Arrays.add), (2, _Arrays.copy), (2, _Arrays.read))
            )
            found.append(MemoryRoof(int(working_set), max(add, copy, read)))
    # STREAM's Add moves what its Triad moves, and NumPy has no fused multiply and add.
    return tuple(found), add


def _everywhere(pool: ThreadPoolExecutor, step: "Callable[[_Arrays], None]", parts: "list[_Arrays]") -> None:
    for _ in pool.map(step, parts):
        pass


class _Arrays:
    """Three arrays of one thread. A call of NumPy goes through a slice of them, many times if it is small."""

    def __init__(self, np: Any, count: int, again: int, slices: int) -> None:
        self._np, length = np, count // slices
        # A stride of nothing: the same elements as often as is wanted, without the cost of a call each time.
        strided = np.lib.stride_tricks.as_strided
        whole = [np.full(count, value) for value in (0.0, 1.0, 2.0)]
        pieces = [
            tuple(strided(x[at * length :], (again, length), (0, ITEM)) for x in whole)
            for at in range(slices)
        ]
        self._next = cycle(pieces).__next__

    def add(self) -> None:
        """a(i) = b(i) + c(i)."""
        a, b, c = self._next()
        self._np.add(b, c, out=a)

    def copy(self) -> None:
        """a(i) = b(i)."""
        a, b, _ = self._next()
        self._np.copyto(a, b)

    def read(self) -> None:
        """The largest of b and of c."""
        _, b, c = self._next()
        self._np.maximum.reduce(b, axis=1)
        self._np.maximum.reduce(c, axis=1)


# A GPU's memory and link.


def _gpu_memory(tf: Any, stopwatch: Stopwatch, name: str) -> tuple[tuple[MemoryRoof, ...], float]:
    count = 64 * 2**20 // 4
    with tf.device(f"/{name}"):
        b, c = tf.fill((count,), 1.0), tf.fill((count,), 2.0)
        try:
            fused = tf.function(lambda x, y: x + 3.0 * y, jit_compile=True)
            fused(b, c)
        except Exception:  # no XLA for this device: STREAM's Add, one kernel, stands for the triad
            fused = tf.add
        triad = 12 * count / min(stopwatch.time(lambda: fused(b, c)) for _ in range(TRIES))
        copy = 8 * count / min(stopwatch.time(lambda: tf.raw_ops.DeepCopy(x=b)) for _ in range(TRIES))
        read = 4 * count / min(stopwatch.time(lambda: tf.reduce_sum(b)) for _ in range(TRIES))
    return (MemoryRoof(12 * count, max(triad, copy, read)),), triad


def _link(tf: Any, stopwatch: Stopwatch, name: str) -> LinkRoof:
    from tuilab.worker.measure.link import measure_link

    there = measure_link(tf, stopwatch, "/CPU:0", f"/{name}")
    back = measure_link(tf, stopwatch, f"/{name}", "/CPU:0")
    return LinkRoof(
        latency_s=max(there.latency_s, back.latency_s),
        to_device=there.bytes_per_s,
        to_host=back.bytes_per_s,
    )


# Arithmetic.


def _peaks(
    tf: Any, stopwatch: Stopwatch, name: str, dtypes: tuple[str, ...], seconds: float
) -> dict[str, float]:
    """FLOP per second of the fastest product, by dtype; a dtype without a kernel is left out."""
    found = {}
    for dtype in dtypes:
        try:
            found[dtype] = _peak(tf, stopwatch, name, dtype, seconds / len(dtypes))
        except Exception:
            continue
    return found


def _peak(tf: Any, stopwatch: Stopwatch, name: str, dtype: str, seconds: float) -> float:
    settings = tf.config.experimental
    before = settings.tensor_float_32_execution_enabled()
    settings.enable_tensor_float_32_execution(dtype == "tf32")
    kind, sync = "float32" if dtype == "tf32" else dtype, sync_of(tf, name)
    sides = SIDES if family(name) == "CPU" else (*SIDES, 4 * SIDES[-1])
    rates: list[float] = []
    try:
        for side in sides:
            if rates and 2 * side**3 / rates[-1] > seconds:
                break  # a slow device shows its peak with a small product
            with tf.device(f"/{name}"):
                x = tf.cast(tf.random.normal((side, side)), kind)
                product = partial(tf.matmul, x, x)
                stopwatch.time(product)
                rates.append(2 * side**3 / _best(lambda: (product(), sync()), seconds / len(sides)))  # noqa: B023
    finally:
        settings.enable_tensor_float_32_execution(before)
    return max(rates)


# A call that does nothing.


def _launches(tf: Any, stopwatch: Stopwatch, name: str) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of an empty call by mode, as an arm's is made; and with the code around it that copies."""
    launch: dict[str, float] = {}
    copied: dict[str, float] = {}
    for mode in MODES:
        with tf.device(f"/{name}"):
            x = tf.identity(tf.zeros(()))
        try:
            calls = [empty_call(tf, mode, x), empty_call(tf, mode)]
            with tf.device(f"/{name}"):
                launch[mode] = min(_per_call(stopwatch, call) for call in calls)
                copied[mode] = min(_per_call(stopwatch, _copying(tf, call, x, name)) for call in calls)
        except Exception:
            continue  # XLA has no compiler for this device
    return launch, copied


def _copying(tf: Any, call: Callable[[], Any], x: Any, name: str) -> Callable[[], Any]:
    """What an arm whose input is copied does around its call (`worker.build`)."""

    def whole() -> Any:
        moved(tf, x, f"/{name}")
        return tf.nest.map_structure(lambda value: value.numpy(), call())

    return whole


def _per_call(stopwatch: Stopwatch, call: Callable[[], object]) -> float:
    stopwatch.time(call, CALLS)
    return min(stopwatch.time(call, CALLS) / CALLS for _ in range(BLOCKS))
