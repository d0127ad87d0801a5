"""Limits the time and memory that opening a model may take. The worker's guard enforces the limits."""

import contextlib
import os
from collections.abc import Iterator

from tuilab.processes import UNLIMITED, own_guard

OPENING_S = "TUILAB_OPENING_S"
"""Environment variable that replaces `LIMIT_S`, in seconds."""
LIMIT_S, BYTES_A_SECOND = 120.0, 20_000_000
"""Time limit: `LIMIT_S` seconds plus one second per `BYTES_A_SECOND` bytes. A 2 GB model gets 100 s more."""
ROOMY, TIMES, SHARE, MOST = 2 * 2**30, 4, 0.25, 0.8
"""Memory limit: 2 GiB plus four times the file size, or a quarter of the free memory if that is more; never
more than 80% of the free memory.
"""


@contextlib.contextmanager
def limited(weighs: int, free: int) -> Iterator[None]:
    """End this process with a final message if the code inside exceeds the limits.

    weighs: bytes of the model's files. free: bytes of available memory.
    """
    seconds = float(os.environ.get(OPENING_S, LIMIT_S)) + weighs / BYTES_A_SECOND
    guard = own_guard()
    if guard is None:  # this system is not Linux
        yield
        return
    guard.limit(seconds, int(min(MOST * free, max(SHARE * free, ROOMY + TIMES * weighs))))
    try:
        yield
    finally:
        guard.tell(UNLIMITED)
