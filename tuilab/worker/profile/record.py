"""A few calls under TensorFlow's profiler, in a pass of its own."""

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuilab.worker.profile.classify import CALL, SYNC
from tuilab.workloads.base import Case

FEWEST, MOST = 3, 50


@dataclass(frozen=True)
class Record:
    """calls: how many were profiled. measured_s: median of unprofiled, synchronised calls just before.

    path: the profile's place in its folder (`plugins/profile/<run>/<host>.xplane.pb`). data: its bytes.
    """

    calls: int
    measured_s: float
    path: str
    data: bytes


def record(tf: Any, case: Case, sync: Callable[[], object], seconds: float) -> Record:
    """Call the case for about `seconds` without the profiler, then as often with it.

    sync: waits until the device, or every one, is idle. Raises whatever the call raises.
    """
    with case.scope():
        measured = _measured(case, sync, seconds)
        calls = max(FEWEST, min(MOST, round(seconds / max(statistics.median(measured), 1e-6))))

        def call() -> None:
            case.call()
            with tf.profiler.experimental.Trace(SYNC):
                sync()

        taken = profiled(tf, call, calls)
    if taken is None:
        raise RuntimeError("the profiler wrote no file")
    return Record(calls, statistics.median(measured), *taken)


def _measured(case: Case, sync: Callable[[], object], seconds: float) -> list[float]:
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < FEWEST or (time.perf_counter() - begun < seconds and len(times) < MOST):
        start = time.perf_counter()
        case.call()
        sync()
        times.append(time.perf_counter() - start)
    return times


def profiled(tf: Any, call: Callable[[], object], calls: int) -> tuple[str, bytes] | None:
    """The profiler's file of so many calls, with its place in the folder; null where it wrote none."""
    profiler = tf.profiler.experimental
    with tempfile.TemporaryDirectory(prefix="tuilab-") as folder:
        # Without options: TensorFlow 2.21 refuses each with a warning, and keeps its default.
        profiler.start(folder)
        try:
            for number in range(calls):
                with profiler.Trace(CALL, step_num=number, _r=1):
                    call()
        finally:
            profiler.stop()
        files = sorted(Path(folder).rglob("*.xplane.pb"))
        return (files[0].relative_to(folder).as_posix(), files[0].read_bytes()) if files else None
