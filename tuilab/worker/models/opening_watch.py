"""Limits the opening of a model: a separate process ends the worker if opening takes too long or too much
memory.

A thread would not work, because HDF5 and protocol buffers hold the interpreter lock while they read. Uses
only the standard library, because the same file is the watching program: `python -I -S opening_watch.py PID`.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

OPENING_S = "TUILAB_OPENING_S"
"""Environment variable: seconds that the opening of a small model may take, instead of `LIMIT_S`."""
LIMIT_S, BYTES_A_SECOND = 120.0, 20_000_000
"""Seconds, and bytes per second: a 2 GB model, perhaps on a slow disk, gets 100 s more."""
ROOMY, TIMES, SHARE, MOST = 2 * 2**30, 4, 0.25, 0.8
"""Memory limit: 2 GiB plus four times the file size, or a quarter of the free memory if that is more; never
more than 80% of the free memory.
"""
EVERY_S = 0.05
_ahead: "list[subprocess.Popen[bytes]]" = []
"""The watching process, started before the model is opened."""


def prepare() -> None:
    """Start the watching process, so that it is ready when the model is opened."""
    _ahead.append(_start_watch())


def _start_watch() -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-I", "-S", __file__, str(os.getpid())]
    libraries = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=libraries)


@contextlib.contextmanager
def bounded(weighs: int, free: int) -> Iterator[None]:
    """End this process with a final message if the code inside exceeds the limits.

    weighs: bytes of the model's files. free: bytes of available memory.
    """
    seconds = float(os.environ.get(OPENING_S, LIMIT_S)) + weighs / BYTES_A_SECOND
    memory = int(min(MOST * free, max(SHARE * free, ROOMY + TIMES * weighs)))
    ahead = [watch for watch in _ahead if watch.poll() is None]
    _ahead.clear()
    watch = ahead[0] if ahead else _start_watch()
    assert watch.stdin is not None
    watch.stdin.write(f"{seconds} {memory} {_resident(os.getpid())}\n".encode())
    watch.stdin.flush()
    try:
        yield
    finally:
        with watch.stdin, contextlib.suppress(OSError):
            watch.stdin.write(b"\n")  # no EOF while a child forked by `--code` holds the pipe open
            watch.stdin.flush()
        # A small model loads before the watching process exits, so wait for that process in a thread.
        threading.Thread(target=watch.wait, daemon=True).start()


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _watch(pid: int) -> None:
    """Read the limits, then watch until the pipe has more input or is closed.

    The limits are one line: seconds, bytes, and the bytes that the process used before. Before ending the
    process, it prints the reason to standard error.
    """
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    if not line:
        return
    seconds, memory, before = (float(word) for word in line.split())
    begun, why = time.monotonic(), ""
    while not why and not select.select([0], [], [], EVERY_S)[0]:
        if (taken := _resident(pid) - before) > memory:
            why = f"it took {taken / 1e9:.1f} GB of memory, and {memory / 1e9:.1f} GB are allowed"
        elif time.monotonic() - begun > seconds:
            why = f"it was not finished after {seconds:.0f} s, for example because the graph never ends"
    if why:
        os.write(2, f"\ntuilab: opening the model was stopped: {why}\n".encode())
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    _watch(int(sys.argv[1]))
