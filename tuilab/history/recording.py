"""A run as a file of events, one JSON line each: to take along, to import, to replay."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tuilab.history.paths import private_file
from tuilab.model import events as e
from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize

LONGEST_LINE = 64 * 2**20
LARGEST_FILE = 512 * 2**20


def write(file: Path, events: Iterable[e.Event]) -> None:
    """Write the events; the first line says with which protocol and version. Raises OSError."""
    write_lines(file, (e.encode(event).rstrip() for event in events))


def write_lines(file: Path, lines: Iterable[bytes]) -> None:
    """As `write`, for events that are encoded already, without their line ends."""
    import tuilab

    private_file(file)
    with file.open("wb") as stream:
        stream.write(e.encode(e.Hello(protocol=e.PROTOCOL, tuilab=tuilab.__version__, pid=0)))
        for line in lines:
            stream.write(line + b"\n")


def read(file: Path) -> Iterator[e.Event]:
    """The events of a recording. Raises InputError naming file and line where it is none."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise InputError(str(file), file.stat().st_size, f"a recording of at most {LARGEST_FILE:,} bytes")
        with file.open("rb") as stream:
            number = 0
            while line := stream.readline(LONGEST_LINE):
                number += 1
                yield _event(file, number, line)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(str(file), why, "a file that can be read") from None
    if not number:
        raise InputError(str(file), "an empty file", "a recording made by tuilab")


def _event(file: Path, number: int, line: bytes) -> e.Event:
    try:
        event = e.decode(line)
    except msgspec.MsgspecError as error:
        raise InputError(f"{file}, line {number}", str(error), "an event as tuilab records them") from None
    if number == 1 and (not isinstance(event, e.Hello) or event.protocol != e.PROTOCOL):
        raise InputError(f"{file}, line 1", type(event).__name__, f"a recording of protocol {e.PROTOCOL}")
    return sanitize(event)
