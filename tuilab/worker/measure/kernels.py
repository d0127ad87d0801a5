"""How long kernels ran on the host during a few calls, read from TensorFlow's own profiler."""

import statistics
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tuilab.worker.profile.account import Window, windows
from tuilab.worker.profile.classify import CALL
from tuilab.worker.profile.threads import activity
from tuilab.worker.profile.xplane import Line, read

PICO = 1e-12


def kernel_seconds(tf: Any, call: Callable[[], object], calls: int) -> float | None:
    """Seconds of a call in which at least one kernel ran on the host; null where the profile shows none.

    The median of so many calls. A pass of its own, never inside a timed block: recording slows what lies
    between kernels, not the kernels. Host events alone, so nothing of the GPU's tracer is started.
    """
    profiler = tf.profiler.experimental
    with tempfile.TemporaryDirectory(prefix="tuilab-") as folder:
        options = profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0, device_tracer_level=0)
        profiler.start(folder, options)
        try:
            for number in range(calls):
                with profiler.Trace(CALL, step_num=number, _r=1):
                    call()
        finally:
            profiler.stop()
        files = sorted(Path(folder).rglob("*.xplane.pb"))
        found = computing(read(files[0].read_bytes()).lines) if files else []
    return statistics.median(found) * PICO if any(found) else None


def computing(lines: Sequence[Line]) -> list[int]:
    """Picoseconds in which a kernel ran, of each call in a profile; the input pipeline's not."""
    found = activity(lines)
    calls = windows(found.events)
    spans: list[list[Window]] = [[] for _ in calls]
    for segment in found.segments:
        index = bisect_right(calls, (segment.start, float("inf"))) - 1
        if segment.meaning.phase == "compute" and not segment.pipeline and index >= 0:
            spans[index].append((segment.start, min(segment.end, calls[index][1])))
    return [covered(each) for each in spans]


def covered(spans: Iterable[Window]) -> int:
    """The length of the union of spans: kernels that run side by side count once."""
    total, until = 0, -1
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total
