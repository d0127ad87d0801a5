"""Runs a second TensorFlow process with its own settings, and exchanges JSON lines with it.

A second process is needed because device memory limits apply to a whole process, and because a rival for a
device must be a separate process. The child exits when its standard input closes, so no child is left behind.
"""

import importlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tuilab import guest

Message = dict[str, Any]
POLL_S = 0.2
END_S = 2.0


class Child:
    """Starts, queries and stops the child process. target: the child's `module:function`."""

    def __init__(self, target: str, settings: Mapping[str, Any]) -> None:
        command = guest.command(__name__, target, json.dumps(dict(settings)))
        # The child shares standard error, so that its TensorFlow messages reach the log.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._rest = b""

    def ask(self, message: Message, waiting: Callable[[], None] = lambda: None) -> Message:
        """Send a message and wait for the answer; `waiting` is called five times per second and may raise."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            raise self._exit_error() from None
        return self.answer(waiting)

    def answer(self, waiting: Callable[[], None] = lambda: None) -> Message:
        """Return the next answer. Raises RuntimeError if the child has ended."""
        stdout = self._process.stdout
        assert stdout is not None
        while b"\n" not in self._rest:
            if not select.select([stdout], [], [], POLL_S)[0]:
                waiting()
                continue
            got = os.read(stdout.fileno(), 65_536)
            if not got:
                raise self._exit_error()
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        answer: Message = json.loads(line)
        return answer

    def _exit_error(self) -> RuntimeError:
        return RuntimeError(f"the second process ended with code {self._process.wait()}")

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Pipe:
    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd, self._write_fd, self._rest = read_fd, write_fd, b""

    def take(self, wait: bool = True) -> Message | None:
        """Return the next message; None if there is none yet and `wait` is False.

        Exits at the end of input.
        """
        while b"\n" not in self._rest:
            if not wait and not select.select([self._read_fd], [], [], 0)[0]:
                return None
            got = os.read(self._read_fd, 65_536)
            if not got:
                os._exit(0)
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        message: Message = json.loads(line)
        return message

    def send(self, message: Message) -> None:
        os.write(self._write_fd, json.dumps(message).encode() + b"\n")


def main() -> None:
    target, settings = sys.argv[1:]
    pipe = Pipe(os.dup(0), os.dup(1))
    os.dup2(2, 1)  # TensorFlow's output must not be mistaken for an answer
    module, _, name = target.partition(":")
    getattr(importlib.import_module(module), name)(pipe, json.loads(settings))


if __name__ == "__main__":
    main()
