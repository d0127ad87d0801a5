"""A few calls under TensorFlow's profiler, in a pass of its own, alongside as many without it."""

import gc
import statistics
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuilab.profile.classify import CALL, MARK, SYNC
from tuilab.worker.measure.stopwatch import LEAD_IN_FROM, Stopwatch
from tuilab.workloads.base import Case

FEWEST, MOST = 3, 50
LONG_S = 0.1
"""One call that takes longer is enough."""
BESIDE_S, BESIDE = 0.2, 3
"""Blocks without the profiler take about so long before it, and as long after it: one to three each time."""


@dataclass(frozen=True)
class Record:
    """calls: how many were profiled. measured_s: seconds of a call without the profiler, in blocks as long,
    alongside.

    path: the profile's place in its folder (`plugins/profile/<run>/<host>.xplane.pb`). data: its bytes.
    """

    calls: int
    measured_s: float
    path: str
    data: bytes


def record(
    tf: Any, case: Case, stopwatch: Stopwatch, seconds: float, call_s: float, most: int = MOST
) -> Record:
    """Call the case for about `seconds` under the profiler, a block as it is timed, and in such blocks
    without.

    call_s: seconds of a call, as last seen. Raises whatever the call raises, RuntimeError where the profiler
    wrote no file.
    """
    fewest = 1 if call_s > LONG_S else max(min(FEWEST, most), case.least_calls)
    calls = max(fewest, min(most, round(seconds / max(call_s, 1e-6))))
    blocks = max(1, min(BESIDE, round(BESIDE_S / max(calls * call_s, 1e-6))))
    plain = [stopwatch.block(case, calls) / calls for _ in range(blocks)]
    path, data = profiled(tf, case, stopwatch.sync, calls)
    plain += [stopwatch.block(case, calls) / calls for _ in range(blocks)]
    return Record(calls, statistics.median(plain), path, data)


def profiled(tf: Any, case: Case, sync: Callable[[], object], calls: int) -> tuple[str, bytes]:
    """Return the profiler's file of a block of that many calls, with its place in the folder.

    The scope is entered once the profiler runs: what a pipeline prepares while it starts is drawn before.
    """
    profiler = tf.profiler.experimental

    def mark(phase: str) -> AbstractContextManager[object]:
        span: AbstractContextManager[object] = profiler.Trace(MARK + phase)
        return span

    marked = case.marked
    call = case.call if marked is None else lambda: marked(mark)
    with tempfile.TemporaryDirectory(prefix="tuilab-") as folder:
        collecting = gc.isenabled()
        # Without options: TensorFlow 2.21 refuses each with a warning, and keeps its default.
        profiler.start(folder)
        try:
            with case.scope():
                if calls >= LEAD_IN_FROM:
                    case.call()
                sync()
                gc.disable()
                for number in range(1, calls + 1):
                    with profiler.Trace(CALL, step_num=number, _r=1):
                        call()
                        if number == calls:
                            with profiler.Trace(SYNC):
                                sync()
        finally:
            if collecting:
                gc.enable()
            profiler.stop()
        files = sorted(Path(folder).rglob("*.xplane.pb"))
        if not files:
            raise RuntimeError("the profiler wrote no file")
        return files[0].relative_to(folder).as_posix(), files[0].read_bytes()
