"""Writes and reads a run as a file of events, one JSON line each, for export, import and replay."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tuilab.model import events as e
from tuilab.model.errors import UNDECODED, CannotBeReadError, InputError
from tuilab.model.files import open_atomic, open_regular, printable_path
from tuilab.model.sanitize import sanitize
from tuilab.version import __version__

LONGEST_LINE = 64 * 2**20


def write(file: Path, events: Iterable[e.Event]) -> None:
    """Write the events after a first line with the protocol and the version. Raises OSError."""
    write_lines(file, (e.encode(event).rstrip() for event in events))


def write_lines(file: Path, lines: Iterable[bytes]) -> None:
    with open_atomic(file) as stream:
        stream.write(e.encode(e.Hello(protocol=e.PROTOCOL, tuilab=__version__, pid=0)))
        for line in lines:
            stream.write(line + b"\n")


def read(file: Path) -> Iterator[e.Event]:
    """Yield the events of a recording. Raises InputError with the file and the line."""
    number = 0
    with open_regular(file) as stream:
        try:
            while line := stream.readline(LONGEST_LINE):
                number += 1
                yield _event(file, number, line)
        except OSError as error:
            raise CannotBeReadError(printable_path(file), error.strerror, "a readable file") from None
    if not number:
        raise InputError(str(file), "an empty file", "a recording made by tuilab")


def _event(file: Path, number: int, line: bytes) -> e.Event:
    try:
        event = e.decode(line)
    except (*UNDECODED, ValueError) as error:
        raise InputError(f"{file}, line {number}", str(error), "an event recorded by tuilab") from None
    if number == 1 and (not isinstance(event, e.Hello) or event.protocol != e.PROTOCOL):
        raise InputError(f"{file}, line 1", type(event).__name__, f"a recording of protocol {e.PROTOCOL}")
    return event if isinstance(event, e.Round) and line.isascii() and b"\\" not in line else sanitize(event)
