"""Connects to a program that `tuilab watch` starts on another machine through ssh."""

import contextlib
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.far import Asked, Over, Said, Shown
from tuilab.model.sanitize import sanitize, sanitize_line
from tuilab.runner import ssh
from tuilab.runner.process import OWN

LONGEST_LINE = 64 * 2**20
LAST_WORDS = 20


class Far:
    """The connection to a watched program on another machine.

    heard: called from a thread with each message. lost: called from that thread, with the reason, if the
    connection ends before the program does. Raises InputError for an invalid host name, or without ssh.
    """

    def __init__(
        self, host: str, words: Sequence[str], heard: Callable[[Said], None], lost: Callable[[str], None]
    ) -> None:
        self._host, self._heard, self._lost = host, heard, lost
        self._lock = threading.Lock()
        self._last_words = deque[str](maxlen=LAST_WORDS)
        command = ssh.command(host, words, "watch")
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError("--host", command[0], f"an executable ssh: {error.strerror}") from None
        threads = [threading.Thread(target=run, daemon=True) for run in (self._log, self._read)]
        self._logging = threads[0]
        for thread in threads:
            thread.start()

    def ask(self, what: Asked) -> None:
        """Send a request. Does nothing if the connection is lost."""
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(msgspec.json.encode(what) + b"\n")
            self._process.stdin.flush()

    def _log(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._last_words.append(sanitize_line(line.decode(errors="replace").rstrip(), 500))

    def _read(self) -> None:
        assert self._process.stdout is not None
        decoder = msgspec.json.Decoder[Said](Said)
        problem = ""
        while line := self._process.stdout.readline(LONGEST_LINE):
            try:
                text = decoder.decode(line)
            except UNDECODED as error:
                problem = f"{self._host}: its output is invalid: {error}"
                break
            self._heard(sanitize(text) if isinstance(text, Shown) else text)
            if isinstance(text, Over):
                self._end()
                return
        if problem:
            self._process.terminate()
        code = self._end()
        own = [line.removeprefix(OWN) for line in self._last_words if line.startswith(OWN)]
        self._lost(
            problem
            or (f"{self._host}: {own[-1]}" if own else ssh.explain(self._host, code, list(self._last_words)))
        )

    def _end(self) -> int:
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError):
            self._process.stdin.close()
        code = self._process.wait()
        self._logging.join(1.0)
        return code
