"""A run that must outlive its reader: its events, written to a file as they are sent or heard."""

import contextlib
import os
import socket
from pathlib import Path

from tuilab.model.events import PROTOCOL, Hello, encode
from tuilab.paths import data_folder, private_folder
from tuilab.processes import since
from tuilab.version import __version__

BEGUN, KEPT, GOING_ON, DONE = ".new", ".kept", ".part", ".jsonl"
"""Endings of the file: nothing yet; its reader is there; the run goes on without one; it is at its end."""
FOLDER = "spool"
"""In the data folder."""
OWN = "~"
"""In place of a folder: the one in the data folder of the machine that measures."""
MOST_BYTES = 256 * 2**20


def folder(data: Path | None = None) -> Path:
    """Return the folder of such files, in the data folder. Raises OSError where it cannot be made."""
    return private_folder((data or data_folder()) / FOLDER)


def file_of(place: str | Path, run: str, ending: str = KEPT) -> Path:
    """Return a run's file in that folder, and in no other: its id may have come with a recording."""
    return Path(place, f"{Path(run).name}{ending}")


def write_all(fd: int, data: bytes) -> None:
    """Write everything, however small the pieces that the system takes. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


class Spool:
    """Events of one run in a file: `RUN.kept` with a reader, `RUN.part` without, `RUN.jsonl` at its end.

    The file begins with a `Hello`, whose pids tell whether the run still goes on (it is `RUN.new` until that
    stands there, so that nobody takes it for one that is left and torn), and holds the run from its
    start, because what was last written to the reader may never have been read. It is written as the run
    goes, so that it survives the worker too.
    """

    def __init__(self, run: str, place: str, finish: bool = True, reader: int | None = None) -> None:
        """place: a folder, or `OWN`. finish: without a reader the run goes on to its end.

        reader: the process with whose end the file is left; this one's parent, unless given.
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
                # The folder may be the reader's too, where the file of all hosts of the run lies.
                self._file = file_of(folder(), f"{run}-{host}", BEGUN)
            flags = os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_WRONLY
            self._fd = os.open(self._file, flags, 0o600)
            write_all(self._fd, encode(hello))
            self._file = self._file.rename(self._file.with_suffix(KEPT))
        except OSError:
            self._give_up()

    @property
    def whole(self) -> bool:
        """Whether every round so far is in the file."""
        return self._fd is not None

    def add(self, line: bytes) -> None:
        """Write one encoded event. Where the disk takes no more, the file is given up."""
        if self._fd is None:
            return
        self._size += len(line)
        # Rounds always; the rest as long as it is not absurdly much.
        if self._size > MOST_BYTES and b'"type":"round"' not in line[:40]:
            return
        try:
            write_all(self._fd, line)
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        """With a reader the file is worth nothing any more; without one its rounds are all there is."""
        if self._fd is not None:
            with contextlib.suppress(OSError):  # own code may have closed it
                os.close(self._fd)
            self._fd = None
        if not self.alone:
            with contextlib.suppress(OSError):
                self._file.unlink()

    def go_on_alone(self) -> bool:
        """Take note that there is no reader any more; False where the run is to end, or cannot be kept."""
        if self._fd is None or not self.finish:
            return False
        self.alone = True
        self._rename(GOING_ON)
        return True

    def close(self) -> None:
        """End the file of a run that is over: without a reader it takes its final name, with one it is the
        reader's.

        A reader elsewhere has heard it all by then.
        """
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            if self.alone:
                self._rename(DONE)
            elif self._own:
                self._file.unlink(missing_ok=True)

    def _rename(self, suffix: str) -> None:
        # A name that stays behind is understood all the same: its Hello says who wrote it.
        with contextlib.suppress(OSError):
            self._file = self._file.rename(self._file.with_suffix(suffix))
