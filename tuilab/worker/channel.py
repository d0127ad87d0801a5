"""The worker's end of the protocol: reads JSON lines from fd 0, writes JSON lines to the original fd 1."""

import contextlib
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, NoReturn

from tuilab import processes
from tuilab.model.errors import CLOSED
from tuilab.model.events import Event, encode
from tuilab.spool import Spool
from tuilab.worker.temporary import folder_name

STDIN, STDOUT, STDERR = 0, 1, 2


class Channel:
    """Writes events and reads request lines. Writing is safe from any thread.

    outward, inward: translate the device names in sent and received lines.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._lock = threading.Lock()
        self._spool: Spool | None = None
        self.outward: Callable[[bytes], bytes] = bytes
        self.inward: Callable[[bytes], bytes] = bytes
        self._guard: processes.Guard | None = None
        self._mark = ""

    @classmethod
    def from_stdio(cls) -> "Channel":
        """Take over fd 0 and fd 1 for the protocol permanently.

        Anything printed to fd 1 afterwards (TensorFlow's placement lines, a user's print) goes to fd 2, which
        the client reads as log lines. fd 0 becomes empty, so a user's `input()` ends at once and cannot
        consume requests.
        """
        read_fd, write_fd = os.dup(STDIN), os.dup(STDOUT)
        os.dup2(STDERR, STDOUT)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, STDIN)
        os.close(empty)
        channel = cls(read_fd, write_fd)
        channel.be_watched()
        return channel

    def be_watched(self) -> None:
        """Start a guard process. When this process or its parent exits, the guard ends this process and its
        children.
        """
        # A worker inside another worker inherits the outer mark. Append its own mark, so that its guard does
        # not end the outer worker.
        self._mark = f"{os.environ.get(processes.MARK, '')}/{os.getpid()}-{time.time_ns()}"
        os.environ[processes.MARK] = self._mark
        processes.adopt()
        self._guard = processes.start_guard(self._mark, str(folder_name() or ""))
        self._ends_with_parent(True)

    def _ends_with_parent(self, on: bool) -> None:
        # Prefer the guard, because it also ends this process's children. The kernel's parent-death signal
        # reaches only this process.
        if self._guard is not None:
            self._guard.tell(processes.WITH_PARENT if on else processes.ALONE)
        else:
            processes.die_with_parent(on)

    def end_children(self) -> list[processes.Process]:
        spare = [self._guard.process] if self._guard is not None else []
        return processes.end_all(os.getpid(), self._mark, spare=spare)

    def leave(self) -> NoReturn:
        """Exit at once, and end every process that user code started.

        Kills the process group only if processes cannot be listed, because the group may include other
        programs, such as the rest of a shell pipeline.
        """
        if sys.platform != "linux" and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        self.end_children()
        os._exit(0)

    def send(self, event: Event) -> None:
        """Write one event. If the client has exited, exit as well, unless a run must be finished first."""
        line = self.outward(encode(event))
        with self._lock:
            if self._spool is not None:
                self._spool.add(line)
                if self._spool.alone:
                    if not self._spool.is_complete:
                        self.leave()
                    return
            try:
                processes.write_all(self._write_fd, line)
            except OSError as error:
                if error.errno == errno.EBADF:
                    self._say_closed()
                self._go_on_alone()

    def keep(self, run: str, folder: str, finish: bool = True) -> None:
        """From now on, also write this run's events to a file. finish: continue the run even if the client
        exits.
        """
        with self._lock:
            self._spool = Spool(run, folder, finish)
            if finish and self._spool.is_complete:
                self._ends_with_parent(False)

    def kept(self) -> None:
        """Close and delete the file of a finished run. If the client has exited, keep the file and exit."""
        with self._lock:
            spool, self._spool = self._spool, None
            if spool is not None:
                spool.close()
                if spool.alone:
                    self.leave()
                self._ends_with_parent(True)

    @staticmethod
    def _say_closed() -> None:
        with contextlib.suppress(OSError):
            os.write(STDERR, f"\n{CLOSED}\n".encode())

    def reader_gone(self) -> None:
        with self._lock:
            self._go_on_alone()

    def _go_on_alone(self) -> None:
        if self._spool is None or not (self._spool.alone or self._spool.go_on_alone()):
            self.leave()

    def lines(self) -> Iterator[bytes]:
        with os.fdopen(self._read_fd, "rb", closefd=False) as stream:
            while line := self._line(stream):
                yield self.inward(line)

    def _line(self, stream: BinaryIO) -> bytes:
        try:
            return stream.readline()
        except OSError as error:
            # `give_back` holds this lock forever and then closes the output; that is not an error
            with self._lock:
                if error.errno == errno.EBADF:
                    self._say_closed()
                self.leave()

    def give_back(self, kept: int, at: int) -> None:
        """Undo `from_stdio`, before another program replaces this process. No event can be sent afterwards.

        The program gets the original standard descriptors, and `kept` as descriptor `at`; all other
        descriptors are closed.
        """
        self._lock.acquire()
        os.dup2(self._read_fd, STDIN)
        os.dup2(self._write_fd, STDOUT)
        os.dup2(kept, at)
        os.set_inheritable(at, True)
        os.closerange(at + 1, os.sysconf("SC_OPEN_MAX"))
