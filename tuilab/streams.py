"""Repairs unusual standard streams and screen sizes at startup."""

import atexit
import io
import os
import sys

LARGEST_SCREEN = 2_000


def repair_streams() -> None:
    """Open closed streams, buffer unbuffered streams, and ignore impossible screen sizes.

    Services and cron jobs may start a program with closed streams. Python sets these to None, and the next
    opened file would become the standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            while (nowhere := os.open(os.devnull, os.O_RDWR)) < number:
                pass
            if nowhere > number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)  # the program that replaces `tuilab worker` inherits it
        if getattr(sys, name) is None:
            stream = open(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):  # `python -u` treats a partly written line as written
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=True)
    for text in (sys.stdout, sys.stderr):
        if isinstance(text, io.TextIOWrapper) and text.errors == "strict":
            text.reconfigure(errors="replace")  # the encoding may lack some characters, as Latin-1 does
    atexit.register(_drop_unwritable_errors)
    for name in ("COLUMNS", "LINES"):
        size = os.environ.get(name, "")
        if not (size.isascii() and size.isdigit() and len(size) < 5 and 0 < int(size) <= LARGEST_SCREEN):
            os.environ.pop(name, None)


def _drop_unwritable_errors() -> None:
    """Discard error output that cannot be written. Otherwise Python would exit with code 120, even after a
    success.
    """
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):
        sys.stderr = None
