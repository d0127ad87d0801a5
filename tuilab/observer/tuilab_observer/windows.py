"""Opens TensorFlow's profiler for short periods (windows), and measures what each window costs."""

from __future__ import annotations

import os
import sys

from .functions import FEW
from .own import Flag, Own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Callable

    from .datasets import Datasets
    from .eager import Eager
    from .functions import Functions
    from .graphs import Graphs
    from .process import Key, Process
    from .sampling import Sampler

CALL = "tuilab call"
ENOUGH = 30
"""Maximum number of steps in a window. Further steps cost time and at least 0.2 MB each, and show nothing
new.
"""
BATCH, LOOP = "batch", "loop"
"""Keys of steps that are neither a function call nor a gradient tape: a batch, or an iteration of a loop."""
PHASES = 4
"""Maximum number of program phases (such as building, adapting, training) that open a window when they
begin.
"""
LEAST_GAP_S = 3.0
"""Minimum seconds between two windows, because tuilab spends processor time on reading each window."""
EAGER_S = 1.0
"""Seconds for which ops must run one by one before a window searches for a loop of ops."""


class Quietly:
    """Suppresses the log lines that TensorFlow prints for each window.

    Calls two Abseil functions in TensorFlow's library, whose names contain the date of the Abseil release. If
    that date is unknown, or an older TensorFlow logs without Abseil, the lines are still printed.
    """

    DATES = (20230125, 20230802, 20240116, 20240722, 20250127, 20250512, 20250814, 20260107, 20260526)
    WARNING = 1

    def __init__(self, folder: str) -> None:
        self.level: Any = None
        self.set: Any = None
        self.before = self.WARNING
        try:
            import ctypes

            name = "libtensorflow_framework.%s" % ("2.dylib" if sys.platform == "darwin" else "so.2")
            library = ctypes.CDLL(os.path.join(folder, name), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
            for date in self.DATES:
                prefix = "_ZN4absl12lts_%d" % date
                if hasattr(library, prefix + "11MinLogLevelEv"):
                    self.level = library[prefix + "11MinLogLevelEv"]
                    self.set = library[prefix + "14SetMinLogLevelENS0_18LogSeverityAtLeastE"]
                    self.set.restype = None
        except Exception:
            self.set = None

    def __enter__(self) -> None:
        self.before = self.level() if self.set is not None else self.WARNING
        if self.before < self.WARNING:
            self.set(self.WARNING)

    def __exit__(self, *how: Any) -> None:
        if self.before < self.WARNING:
            self.set(self.before)


class Windows:
    """Opens and closes windows of the profiler.

    sessions: the profiler sessions that the program itself has open. server: True once the program has
    started a profiler server. open: True while a window is open. step_key: identifies the steps in the
    window.
    """

    def __init__(
        self,
        process: Process,
        functions: Functions,
        eager: Eager,
        datasets: Datasets,
        sampler: Sampler,
        graphs: Graphs,
        folder: str,
    ) -> None:
        from tensorflow.python.profiler.internal import _pywrap_profiler, _pywrap_traceme

        session = _pywrap_profiler.ProfilerSession
        self.process, self.functions, self.eager = process, functions, eager
        self.datasets, self.sampler, self.graphs = datasets, sampler, graphs
        process.mark = self.mark
        self.make_session: Any = getattr(session, "_tuilab_plain", session)
        self.make_traceme: Any = _pywrap_traceme.TraceMe
        self.sessions: Collection[Any] = ()
        self.server, self.open, self.traceme = False, False, None
        self.step_key: Key | None = None
        self._quietly = Quietly(folder)
        self._yielding, self._lock, self._giving_way = Flag(), Own.rlock(), False
        self._looked: set[Key] = set()
        self._apart: list[int] = []
        self._before: dict[int, float] = {}
        self._windows, self._spent = 0, 0.0
        self._recent: list[float] = []

    # Methods called from the program's threads

    def mark(self, key: Key) -> None:
        if self.open and (self.step_key == key or self._same_code(key)):
            if self.traceme is not None:
                self.traceme.Stop()
            self.traceme = self.make_traceme(CALL)
            self._recent.append(Own.now())

    def _same_code(self, key: Key) -> bool:
        """Return True if the step and the window's step run functions with the same code, as in a loop that
        rebuilds its model, but not if both run, as training and validation do.
        """
        code = self.functions.codes.get(key)
        return code is not None and code is self.functions.codes.get(self.step_key) and key not in self._apart

    def give_way(self) -> None:
        """Close the window before the program uses the profiler."""
        self._giving_way = True
        self._yielding.set()
        with self._lock:
            self._giving_way = False

    def leave(self) -> None:
        self._yielding.set()

    # Methods called from the observing thread

    def step(self) -> Key | None:
        """Return the key that identifies a step; None if there are no steps.

        The key is the line of a gradient tape, the tf.function with the most time since the last window,
        `BATCH`, or `LOOP`. Of functions with the same code, as those of training and validation, it is the
        one that ran last.
        """
        best, count, most = None, 0, 0.0
        tapes = self.eager.tapes
        for number, (called, spent) in list(self.functions.totals.items()):
            lately = spent - self._before.get(number, 0.0)
            if called >= FEW and (best is None or lately > most):
                best, count, most = number, called, lately
        if self.functions.latest in self._alike(best):
            best = self.functions.latest
        tape = max(tapes, key=lambda key: tapes[key][0], default=None)
        if tape is not None and tapes[tape][0] >= max(FEW, count // 2):
            return tape
        if best is None and self.datasets.batches >= FEW:
            return BATCH
        if best is None and self.sampler.facts.opened and self.sampler.eager_s >= EAGER_S:
            return LOOP
        return best

    def _alike(self, key: Key | None) -> list[int]:
        """Return the other functions with this function's code that were called since the last window."""
        code = self.functions.codes.get(key)
        return [
            number
            for number, (called, spent) in list(self.functions.totals.items())
            if number != key and called >= FEW and spent > self._before.get(number, 0.0)
            if code is not None and self.functions.codes.get(number) is code
        ]

    def due(self, due: float | None) -> float | None:
        """Return the time at which the next window opens; None while there are no steps.

        A new kind of step opens a window at once. due: the time that the previous window set for the next
        one.
        """
        key = self.step()
        if key is None or key in self._looked or len(self._looked) >= PHASES:
            return due  # set when the previous window ended
        if key == LOOP:
            return Own.now()
        if isinstance(key, tuple):
            seen = self.eager.tapes[key][0]
        elif isinstance(key, int):
            seen = self.functions.totals[key][0]
        else:
            seen = self.datasets.batches
        return Own.now() if seen >= (FEW if self.process.settings.once else 5) else due

    def after(self) -> float:
        if self.process.settings.once:
            return float("inf")
        if self.process.settings.every:
            return Own.now() + self.process.settings.every
        mean = self._spent / max(1, self._windows)
        return Own.now() + min(120.0, max(LEAST_GAP_S, mean / self.process.settings.share))

    def window(self, flush: Callable[[], None]) -> None:
        """Open TensorFlow's profiler for a short time, unless the program itself uses the profiler.

        flush: sends the pending data.
        """
        import glob
        import shutil
        import tempfile

        if self.server or self.sessions:
            return
        self.step_key = self.step()
        if self.step_key is None:
            return
        self._looked.add(self.step_key)
        self._apart = self._alike(self.step_key)
        begun_cpu, usual = Own.thread_cpu(), self._usual()
        folder = tempfile.mkdtemp(prefix="window-", dir=os.path.dirname(self.process.settings.address))
        try:
            with self._lock:
                if self.server or self.sessions:
                    return
                self._yielding.clear()
                self._recent = []
                session = self.make_session()
                with self._quietly:
                    session.start(folder, {})
                opened = Own.now()
                self.open = True
                try:
                    self._wait(opened, usual)
                finally:
                    self.open = False
                closed = Own.now()
                enough = self._windows == 0 and (len(self._recent) >= 4 or self.step_key == LOOP)
                leaving = self._giving_way or (self.process.leaving.is_set() and not enough)
                # A window without a whole step shows nothing, so do not read it.
                if not leaving and (len(self._recent) >= 2 or self.step_key == LOOP):
                    with self.sampler.meanwhile, self._quietly:
                        session.export_to_tb()
                        del session
                else:
                    with self._quietly:
                        if self.sampler.facts.gpus:
                            # Deleting the session without stopping it would take a tenth of the time, but
                            # has been tested only without a GPU.
                            session.stop()
                        del session  # this also prints log lines
                if leaving:
                    return
            marks = self._recent
            took = [b - a for a, b in zip(marks, marks[1:])]
            slower = max(0.0, sorted(took)[len(took) // 2] - usual) * len(took) if took and usual else 0.0
            found = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
            cost = Own.thread_cpu() - begun_cpu + slower
            self._windows += 1
            self._spent += cost
            totals = self.functions.totals
            self._before = {number: spent for number, (_, spent) in list(totals.items())}
            flush()  # sending the graphs may take longer than the program waits at its exit
            with self.sampler.meanwhile:
                self.graphs.send()
                self.process.channel.send(
                    "window",
                    attached=found[0] if found else "",
                    start=opened,
                    end=closed,
                    cost=cost,
                    steps=len(took),
                    step=None if self.step_key in (BATCH, LOOP) else self.step_key,
                )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if not Own.exists(self.process.settings.address):  # tuilab was killed while the window was open
                try:
                    os.rmdir(os.path.dirname(self.process.settings.address))
                except OSError:
                    pass

    def _usual(self) -> float:
        starts = [start for start, _ in self.datasets.waits] if self.step_key == BATCH else []
        starts += [call[1] for call in self.functions.calls if call[0] == self.step_key]
        took = sorted(b - a for a, b in zip(starts, starts[1:]))
        return took[len(took) // 2] if took else 0.0

    def _wait(self, opened: float, usual: float) -> None:
        length = self.process.settings.window
        while not self.process.leaving.is_set():
            lasted = Own.now() - opened
            enough = len(self._recent) >= 4 or self.step_key == LOOP or lasted >= 4.0
            # No steps ran recently, so the program has entered another phase.
            gone = not self._recent and lasted >= max(1.0, 1.5 * usual)
            if lasted >= length and (enough or gone):
                return
            # A GPU lags behind the program and may still be working on earlier steps.
            if lasted >= length / 4 and len(self._recent) > ENOUGH and not self.sampler.facts.gpus:
                return
            if self._yielding.wait(0.01):
                return
            self.sampler.sample(late=True)
