"""Suggests shapes for the arguments of a user's function by tracing it with usual shapes.

The traces run in a forked process, so that they change nothing in the worker: the first call of a Keras
layer, for example, builds the layer for the shape of its input.
"""

import itertools
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tuilab.model.shapes import EXAMPLE, Argument, checked, parse

LASTS_S = 3.0
ALIKE = (
    EXAMPLE,
    "float32[n=64,n=64]",
    "float32[batch=8,height=64,width=64,3]",
    "float32[height=64,width=64,3]",
    "float32[batch=32,length=64,64]",
    "float32[n=1024]",
    "int32[batch=32,64]",
    "int32[n=1024]",
    "int32[]",  # before float32[], because TensorFlow accepts a float as a size only while it traces
    "float32[]",
    "uint8[batch=8,height=64,width=64,3]",
    "complex64[batch=32,64]",
    "string[batch=32]",
    "string[]",
    "32",
)
"""Candidate shapes, the most usual first. All arguments get the same shape."""
MIXED = (
    EXAMPLE,
    "float32[batch=32]",
    "int32[batch=32]",
    "float32[64,64]",
    "float32[64]",
    "int32[]",
    "float32[]",
    "float32[batch=32,height=64,width=64,3]",
    "32",
)
"""Candidate shapes for each argument, tried in all combinations if no shape in `ALIKE` fits all arguments."""
Trace = Callable[[Mapping[str, Argument]], object]
"""Traces the function with these arguments. Raises an error of any type if the function does not accept them.
"""


def candidates(names: Sequence[str], known: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    yield from ((shape,) * len(names) for shape in (*known, *ALIKE))
    if len(names) > 1:
        yield from itertools.product(MIXED, repeat=len(names))


def first_accepted(names: Sequence[str], trace: Trace, known: Sequence[str] = ()) -> tuple[str, ...]:
    end = time.monotonic() + LASTS_S
    for shapes in candidates(names, known):
        arguments = checked([parse(f"{name}={shape}") for name, shape in zip(names, shapes, strict=True)])
        try:
            trace(dict(zip(names, arguments, strict=True)))
        except Exception:  # user code may raise anything
            if time.monotonic() > end:
                break
        else:
            return shapes
    return ()


def suggest(names: Sequence[str], trace: Trace, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a shape for each argument, found by tracing in a forked process; () if none was found in time.

    The fork has only one thread. Code that needs another thread, such as an eager op, waits until the fork is
    killed.
    """
    if not hasattr(os, "fork") or os.uname().sysname != "Linux":
        return ()
    reads, writes = os.pipe()
    pid = os.fork()
    if not pid:
        _answer(writes, names, trace, known)
    os.close(writes)
    try:
        found = b""
        end = time.monotonic() + LASTS_S
        while select.select([reads], [], [], max(0.0, end - time.monotonic()))[0]:
            if not (data := os.read(reads, 4096)):
                break
            found += data
    finally:
        os.close(reads)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return tuple(found.decode().splitlines())


def _answer(writes: int, names: Sequence[str], trace: Trace, known: Sequence[str]) -> Any:
    """Write the shapes and end this process without Python's exit handlers, which belong to the worker."""
    try:
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)  # the code may print while it is traced
        os.write(writes, "\n".join(first_accepted(names, trace, known)).encode())
    finally:
        os._exit(0)
