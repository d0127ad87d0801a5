"""Observes gradient tapes in Python, values copied to the host, and arrays converted to tensors."""

from __future__ import annotations

from .functions import MOST_CALLS
from .own import Own
from .places import is_own, site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from .functions import Functions
    from .process import Process

MOST_SITES = 2_000


class Eager:
    """Observes eager code.

    tapes: by line, the number of gradient tapes, and whether a library created them. reads: by line, the
    number of reads and their seconds. copied: by line, the number, bytes and seconds of NumPy arrays that
    were converted to tensors.
    """

    def __init__(self, process: Process, functions: Functions) -> None:
        self.process, self.functions = process, functions
        self.tapes: dict[tuple[str, int], tuple[int, bool]] = {}
        self.reads: dict[tuple[str, int], tuple[int, float]] = {}
        self.copied: dict[tuple[str, int], tuple[int, int, float]] = {}

    def tape(self, frame: FrameType) -> list[Any]:
        """Record the end of a gradient tape in Python, and return the tape's line. Outside a tf.function, a
        tape counts as a step.
        """
        where = site(frame)
        if where is None:
            return []
        key = where[:2]
        row = self.tapes.get(key)
        if row is None:
            if len(self.tapes) > MOST_SITES:
                return []
            row = 0, bool(where[3])
            self.process.stepping()
        self.tapes[key] = row[0] + 1, row[1]
        calls = self.functions.calls
        if len(calls) < MOST_CALLS:
            calls.append((key, Own.now(), 0.0, False))
        self.process.mark(key)
        return list(key)

    def read(self, frame: FrameType | None, start: float) -> None:
        took = Own.now() - start
        if Own.thread() != self.process.thread_of_steps:
            return  # input pipeline threads also read values, but no step waits for them
        while frame is not None and (frame.f_globals.get("__name__") or "").startswith(
            ("tensorflow", "numpy")
        ):
            frame = frame.f_back
        if frame is None or not is_own(frame.f_code.co_filename):
            return
        key = frame.f_code.co_filename, frame.f_lineno
        row = self.reads.get(key, (0, 0.0))
        if row[0] or len(self.reads) <= MOST_SITES:
            self.reads[key] = row[0] + 1, row[1] + took

    def copy(self, frame: FrameType | None, size: int, start: float) -> None:
        took = Own.now() - start
        if Own.thread() != self.process.thread_of_steps:
            return
        where = site(frame)
        if where is None or where[3].startswith(("keras", "tf_keras")):
            return
        row = self.copied.get(where[:2], (0, 0, 0.0))
        if row[0] or len(self.copied) <= MOST_SITES:
            self.copied[where[:2]] = row[0] + 1, row[1] + size, row[2] + took
