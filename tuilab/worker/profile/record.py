"""Runs a few calls under TensorFlow's profiler, and as many without it for comparison."""

import gc
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuilab.analysis.operations import computes
from tuilab.profile.classify import CALL, MARK, SYNC
from tuilab.profile.sums import sums
from tuilab.profile.threads import activity
from tuilab.profile.xplane import read
from tuilab.worker.measure.shallow import shallow
from tuilab.worker.measure.stopwatch import LEAD_IN_FROM, Stopwatch
from tuilab.workloads.base import Case

FEWEST, MOST = 3, 50
LONG_S = 0.1
"""In seconds. If a call takes longer than this, only one call is profiled."""
BESIDE_S, BESIDE = 0.2, 3
"""Limits for the unprofiled blocks on each side of the profiled block: total seconds and number of blocks."""


@dataclass(frozen=True)
class Record:
    """A recorded profile.

    calls: number of profiled calls. measured_s: seconds per call without the profiler, in blocks of equal
    length. path: path of the file inside the profiler's folder (`plugins/profile/<run>/<host>.xplane.pb`).
    data: bytes of the file.
    """

    calls: int
    measured_s: float
    path: str
    data: bytes


def record(
    tf: Any, case: Case, stopwatch: Stopwatch, seconds: float, call_s: float, most: int = MOST
) -> Record:
    """Run one block of about `seconds` under the profiler, and blocks of the same length without it.

    call_s: seconds per call, as last measured. Raises the errors of the call, and RuntimeError if the
    profiler wrote no file.
    """
    fewest = 1 if call_s > LONG_S else max(min(FEWEST, most), case.least_calls)
    calls = max(fewest, min(most, round(seconds / max(call_s, 1e-6))))
    blocks = max(1, min(BESIDE, round(BESIDE_S / max(calls * call_s, 1e-6))))
    plain = [stopwatch.block(case, calls) / calls for _ in range(blocks)]
    path, data = profiled(tf, case, stopwatch.sync, calls)
    plain += [stopwatch.block(case, calls) / calls for _ in range(blocks)]
    return Record(calls, statistics.median(plain), path, data)


def executed(tf: Any, case: Case, sync: Callable[[], object]) -> Counter[str]:
    """Return how often each op type ran in one call, as the profiler recorded it.

    The counts may differ from those in the exported graphs, because the runtime folds constants once more
    after it exports a graph.
    """
    found = sums(activity(read(profiled(tf, case, sync, 1)[1]).lines))
    ran: Counter[str] = Counter()
    for key, count in found.counts.items():
        ran[computes(key.op)] += count
    return ran


def profiled(tf: Any, case: Case, sync: Callable[[], object], calls: int) -> tuple[str, bytes]:
    """Profile a block of `calls` calls; return the path inside the profiler's folder and the file's bytes.

    Enters the case's scope after the profiler has started, because the scope discards the elements that an
    input pipeline prepared meanwhile.
    """
    profiler = tf.profiler.experimental

    def mark(phase: str) -> AbstractContextManager[object]:
        span: AbstractContextManager[object] = profiler.Trace(MARK + phase)
        return span

    marked = case.marked
    call = case.call if marked is None else lambda: marked(mark)

    def run() -> None:
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

    with tempfile.TemporaryDirectory(prefix="tuilab-") as folder:
        collecting = gc.isenabled()
        # Pass no options, because TensorFlow 2.21 rejects each one with a warning and uses its default.
        profiler.start(folder)
        try:
            shallow(run)
        finally:
            if collecting:
                gc.enable()
            profiler.stop()
        files = sorted(Path(folder).rglob("*.xplane.pb"))
        if not files:
            raise RuntimeError("the profiler wrote no file")
        return files[0].relative_to(folder).as_posix(), files[0].read_bytes()
