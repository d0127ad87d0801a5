"""Which process is which, and which ends with another. Linux alone tells; elsewhere nothing is done."""

import contextlib
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def die_with_parent(on: bool = True) -> None:
    """Whether the kernel kills this process when the thread that started it ends.

    Code that never lets go of the interpreter keeps a thread from noticing that the parent is gone; this does
    not depend on one. To be called from the main thread: the kernel keeps it by thread.
    """
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL if on else 0, 0, 0, 0)


def since(pid: int) -> int:
    """When a process began, in the kernel's ticks since it booted; 0 where that is not told.

    Together with its number that names one process, which the number alone does not for ever.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return 0
