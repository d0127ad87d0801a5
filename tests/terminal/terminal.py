"""A program in a pseudo-terminal: its screen, its output, its exit code."""

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import pyte

PATIENCE_S = 60.0
CHUNK = 65_536
WHERE, HERE = re.compile(rb"\x1b\[(\d+);(\d+)H\x1b\[6n"), "\x1b[{};{}R"
"""A program's request for the cursor's position, and the format of the terminal's reply."""
LONGEST_WHERE = 16
COLOUR, BEGUN = re.compile(rb"\x1b\[[0-9;:]*m"), re.compile(rb"\x1b[^a-zA-Z]*$")
"""Match a sequence that sets the style of text, and an incomplete sequence."""


class Terminal:
    """A terminal in which a program runs. All output of the program is read and kept.

    controlling: the terminal is the program's controlling terminal, so closing it sends HUP. answers: reply
    to requests for the cursor's position, as a real terminal does.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        size: tuple[int, int] = (120, 40),
        *,
        cwd: str | None = None,
        controlling: bool = True,
        answers: bool = True,
    ) -> None:
        self.answers = answers
        self._master, slave = os.openpty()
        self._lock = threading.Lock()
        self._size = size
        self.sent = bytearray()
        self._fed = 0
        self._text = ""
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self.resize(*size)
        self.process = subprocess.Popen(
            list(command),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            # GNU readline, once loaded, sets these variables to the size of the test runner's terminal.
            env={name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")},
            cwd=cwd,
            start_new_session=True,
            preexec_fn=_take if controlling else None,
        )
        os.close(slave)
        self._gone = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._gone.is_set():
            try:
                if not select.select([self._master], [], [], 0.1)[0]:
                    continue
                data = os.read(self._master, CHUNK)
            except OSError:
                return
            if not data:
                return
            with self._lock:
                # a request may arrive in two pieces
                before = len(self.sent)
                self.sent += data
                asked = [
                    m for m in WHERE.finditer(self.sent, max(0, before - LONGEST_WHERE)) if m.end() > before
                ]
            if self.answers:
                self.press("".join(HERE.format(*map(int, m.groups())) for m in asked))

    # Output

    @property
    def text(self) -> str:
        with self._lock:
            new = BEGUN.sub(b"", bytes(self.sent[self._fed :]))
        self._fed += len(new)
        if self._screen.columns != self._size[0] or self._screen.lines != self._size[1]:
            self._screen.resize(self._size[1], self._size[0])
            self._text = ""
        if new:
            self._stream.feed(COLOUR.sub(b"", new))
        if new or not self._text:
            self._text = "\n".join(line.rstrip() for line in self._screen.display)
        return self._text

    @property
    def screen(self) -> pyte.Screen:
        screen = pyte.Screen(*self._size)
        with self._lock:
            pyte.ByteStream(screen).feed(bytes(self.sent))
        return screen

    @property
    def last_words(self) -> str:
        after = bytes(self.sent).rpartition(b"\x1b[?1049l")[2].decode(errors="replace")
        return re.sub(r"\x1b\[[0-?]*[a-zA-Z]", "", after)

    def shows(self, *words: str) -> bool:
        """Return True if all words are on the screen, or in a message that covers the screen."""
        text = self.text
        # A message is on the right, after a bar, and its text is wrapped.
        parts = [line.rpartition("▌")[2].strip(" │─╯╮") for line in text.splitlines() if "▌" in line]
        message = " ".join(parts)
        return all(word in text or word in message for word in words)

    def until(self, true: Callable[[], object], seconds: float = PATIENCE_S, what: str = "") -> float:
        begun = time.monotonic()
        while not true():
            if time.monotonic() - begun > seconds:
                raise TimeoutError(f"not within {seconds:g} s: {what or true}\n{self.text}")
            time.sleep(0.02)
        return time.monotonic() - begun

    def see(self, *words: str, seconds: float = PATIENCE_S) -> float:
        return self.until(lambda: self.shows(*words), seconds, f"{words} on the screen")

    def compares(self) -> float:
        """Wait until the Compare view shows a comparison. Returns the waiting time in seconds.

        The view shows "smallest median" if the ratios within rounds do not confirm that the arm with the
        smallest median is fastest.
        """
        return self.until(
            lambda: self.shows("fastest") or self.shows("smallest median"), what="a comparison on the screen"
        )

    # Input

    def press(self, keys: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._master, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Change the terminal's size. The kernel then sends WINCH."""
        self._size = (columns, lines)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def hang_up(self) -> None:
        """Close the connection, as if the terminal had disappeared."""
        if not self._gone.is_set():
            self._gone.set()
            self._reader.join(5)
            os.close(self._master)

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def ended(self, seconds: float = PATIENCE_S) -> int:
        """Wait for the program's end. Returns the exit code, negative for a signal. Raises TimeoutError."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"it has not ended within {seconds:g} s\n{self.text}") from None

    def close(self) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait(10)
        self.hang_up()


def find(terminal: Terminal, words: str, *, below: str = "") -> tuple[int, int]:
    """Return the cell, counted from (0, 0), where these words begin. below: search only below the line with
    this text.
    """
    lines = terminal.text.split("\n")
    first = next((y for y, line in enumerate(lines) if below in line), 0)
    for y, line in enumerate(lines[first:], first):
        if words in line:
            return line.index(words), y
    raise AssertionError(f"{words!r} is not on the screen:\n{terminal.text}")


def mouse(terminal: Terminal, button: int, x: int, y: int, *, released: bool = False) -> None:
    terminal.press(f"\x1b[<{button};{x + 1};{y + 1}{'m' if released else 'M'}")


def click(terminal: Terminal, x: int, y: int) -> None:
    mouse(terminal, 0, x, y)
    mouse(terminal, 0, x, y, released=True)


def drag(terminal: Terminal, x: int, y: int, to: int) -> None:
    mouse(terminal, 0, x, y)
    for at in range(x, to, 1 if to > x else -1):
        mouse(terminal, 32, at, y)
    mouse(terminal, 32, to, y)
    mouse(terminal, 0, to, y, released=True)


def _take() -> None:
    """Make standard input the controlling terminal. Runs in the child process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
