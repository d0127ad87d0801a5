"""A pseudo-terminal that behaves like a real terminal: it reads at a limited rate and answers requests."""

import bisect
import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import psutil
import pyte

PATIENCE_S = 90.0
PLACE = re.compile(rb"\x1b\[(\d+);(\d+)H")
SLICE_S = 0.02
LAB = (sys.executable, "-m", "tuilab")


class Terminal:
    """A program in a terminal.

    rate: bytes per second that the terminal reads; None for no limit. arrivals: the time of each read
    (`time.monotonic`), and the total number of bytes until then.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        size: tuple[int, int] = (120, 40),
        *,
        rate: float | None = None,
    ) -> None:
        self.rate = rate
        self.sent, self.arrivals = 0, [(0.0, 0)]
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._all = bytearray()
        self._fed = 0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=dict(env), start_new_session=True
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        credit, before = 0.0, time.monotonic()
        while not self._over.is_set():
            now = time.monotonic()
            rate = self.rate
            if rate is not None:
                # After an idle period, the line may send more at once, up to two slices.
                credit, before = min(credit + rate * (now - before), rate * 2 * SLICE_S), now
                if credit < 1:
                    time.sleep(SLICE_S / 2)
                    continue
            if not select.select([self._master], [], [], SLICE_S)[0]:
                continue
            try:
                data = os.read(self._master, 65_536 if rate is None else int(credit))
            except OSError:
                return
            if not data:
                return
            credit = 0.0 if rate is None else credit - len(data)
            self._take(data)

    def _take(self, data: bytes) -> None:
        with self._lock:
            self._all += data
            self.sent += len(data)
            self.arrivals.append((time.monotonic(), self.sent))

    @property
    def text(self) -> str:
        with self._lock:
            new = bytes(self._all[self._fed :])
            self._fed = len(self._all)
        if new:
            self._stream.feed(new)
        return "\n".join(line.rstrip() for line in self._screen.display)

    def until(self, true: Callable[[], object], seconds: float = PATIENCE_S, what: str = "") -> float:
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {seconds:g} s: {what}\n{self.text}")
            time.sleep(0.002)
        return time.monotonic()

    def at(self, position: int) -> float:
        counts = [count for _, count in self.arrivals]
        return self.arrivals[bisect.bisect_right(counts, position)][0]

    def arrival(self, word: str, seconds: float = PATIENCE_S) -> float:
        wanted = word.encode()
        self.until(lambda: wanted in self._all, seconds, word)
        return self.at(self._all.find(wanted) + len(wanted) - 1)

    def until_drawn(
        self, mark: int, columns: tuple[int, int], rows: tuple[int, int], seconds: float = PATIENCE_S
    ) -> float:
        found: list[int] = []

        def drawn() -> bool:
            with self._lock:
                new = bytes(self._all[mark:])
            for match in PLACE.finditer(new):
                y, x = int(match[1]), int(match[2])
                if rows[0] <= y <= rows[1] and columns[0] <= x <= columns[1]:
                    found.append(mark + match.end())
                    return len(self._all) > found[0]
            return False

        self.until(drawn, seconds, "cells drawn")
        return self.at(found[0])

    def see(self, *words: str, seconds: float = PATIENCE_S) -> float:
        return self.until(lambda: all(w in self.text for w in words), seconds, " ".join(words))

    def settle(self, still_s: float = 1.0, seconds: float = PATIENCE_S) -> None:
        self.until(lambda: time.monotonic() - self.arrivals[-1][0] > still_s, seconds, "a still screen")

    def press(self, keys: str) -> float:
        at = time.monotonic()
        os.write(self._master, keys.encode())
        return at

    def bytes_in(self, seconds: float) -> int:
        before = self.sent
        time.sleep(seconds)
        return self.sent - before

    def cpu_parts(self) -> dict[str, float]:
        """Return the processor seconds of the program (`ui`) and of its children (`worker`)."""
        me = psutil.Process(self.process.pid)

        def used(process: psutil.Process) -> float:
            times = process.cpu_times()
            return float(times.user + times.system)

        return {"ui": used(me), "worker": sum(used(p) for p in me.children(recursive=True))}

    def close(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(self.process.pid).children(recursive=True)
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(5)
            for child in children:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self._over.set()
        self._reader.join(5)
        os.close(self._master)


@contextlib.contextmanager
def program(
    command: Sequence[str], *, colors: str = "truecolor", rate: float | None = None, state: str = ""
) -> Iterator[Terminal]:
    """Run a program in a terminal of 120 × 40 cells, with its own folders.

    colors: truecolor or 256. state: the folder of saved preferences; a new folder by default.
    """
    with tempfile.TemporaryDirectory() as folder:
        left_out = ("NO_COLOR", "COLORTERM", "TUILAB_ASCII", "COLUMNS", "LINES")
        env = {k: v for k, v in os.environ.items() if k not in left_out}
        env |= {
            "TERM": "xterm-256color",
            "TUILAB_DATA": folder,
            "XDG_CONFIG_HOME": folder,
            "XDG_STATE_HOME": state or folder,
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        env["COLORTERM"] = "truecolor" if colors == "truecolor" else ""
        env.setdefault("LANG", "C.UTF-8")
        terminal = Terminal(command, env, rate=rate)
        try:
            yield terminal
        finally:
            terminal.close()


def lab(*words: str, **given: str | float | bool | None) -> "contextlib.AbstractContextManager[Terminal]":
    return program((*LAB, *words), **given)  # type: ignore[arg-type]
