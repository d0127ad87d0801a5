"""Saves a run's events to a file, so that the run survives the process that reads the events."""

import contextlib
import os
import socket
from pathlib import Path

from tuilab.model.events import PROTOCOL, Hello, encode, kind_of
from tuilab.paths import data_folder, private_folder
from tuilab.processes import since, write_all
from tuilab.version import __version__

BEGUN, KEPT, GOING_ON, DONE = ".new", ".kept", ".part", ".jsonl"
"""File suffixes in order of use: an empty file; a run with a reader; a run that continues without a reader; a
run that has ended.
"""
FOLDER = "spool"
OWN = "~"
"""Stands for the default spool folder of the machine that measures."""
MOST_BYTES = 256 * 2**20


def folder(data: Path | None = None) -> Path:
    """Return the spool folder. Creates the folder if necessary. Raises OSError."""
    return private_folder((data or data_folder()) / FOLDER)


def file_of(place: str | Path, run: str, ending: str = KEPT) -> Path:
    """Return the path of a run's file.

    The path is always inside the folder `place`, even for a malicious run id from a recording.
    """
    return Path(place, f"{Path(run).name}{ending}")


class Spool:
    """A file with the events of one run: `RUN.kept` with a reader, `RUN.part` without one, `RUN.jsonl` at the
    end.

    The file starts with a `Hello`, whose process ids show whether the run continues. Until the `Hello` is
    written, the file's name is `RUN.new`, so that nobody takes it for an abandoned, truncated file. The file
    holds the run from its start, because the reader may have missed the last data, and is written during the
    run, to survive the worker's death.
    """

    def __init__(self, run: str, place: str, finish: bool = True, reader: int | None = None) -> None:
        """place: a folder, or `OWN`.

        finish: True if the run continues to its end without a reader. reader: id of the reading process; by
        default, this process's parent.
        """
        self.finish = finish
        self.alone = False
        self._own = place == OWN
        self._size = 0
        self._fd: int | None = None
        host, reader = socket.gethostname(), reader or os.getppid()
        hello = Hello(
            protocol=PROTOCOL,
            tuilab=__version__,
            pid=os.getpid(),
            parent=reader,
            parent_since=since(reader),
            host=host,
        )
        self._file = file_of(place, run, BEGUN)
        try:
            if self._own:
                # The name differs from that of the reader's file, which holds the events of all hosts and
                # may be in the same folder.
                self._file = file_of(folder(), f"{run}-{host}", BEGUN)
            flags = os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_WRONLY
            self._fd = os.open(self._file, flags, 0o600)
            write_all(self._fd, encode(hello))
            self._file = self._file.rename(self._file.with_suffix(KEPT))
        except OSError:
            self._give_up()

    @property
    def is_complete(self) -> bool:
        return self._fd is not None

    def add(self, line: bytes) -> None:
        """Write one encoded event. If the disk is full, stop writing to the file."""
        if self._fd is None:
            return
        self._size += len(line)
        # Above the size limit, write only rounds.
        if self._size > MOST_BYTES and kind_of(line) != b"round":
            return
        try:
            write_all(self._fd, line)
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        """Stop writing.

        With a reader, deletes the incomplete file, which is worthless. Otherwise keeps the file, because its
        rounds exist nowhere else.
        """
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = None
        if not self.alone:
            with contextlib.suppress(OSError):
                self._file.unlink()

    def go_on_alone(self) -> bool:
        """Record that the reader is gone. Return False if the run must end or cannot be saved."""
        if self._fd is None or not self.finish:
            return False
        self.alone = True
        self._rename(GOING_ON)
        return True

    def close(self) -> None:
        """Close the file of a finished run.

        Without a reader, the file gets its final name. A local reader deletes the file itself. For a remote
        reader, which has already received all events, this method deletes the file.
        """
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            if self.alone:
                self._rename(DONE)
            elif self._own:
                self._file.unlink(missing_ok=True)

    def _rename(self, suffix: str) -> None:
        # If renaming fails, the file remains usable, because its Hello identifies the writer.
        with contextlib.suppress(OSError):
            self._file = self._file.rename(self._file.with_suffix(suffix))
