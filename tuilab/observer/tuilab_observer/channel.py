"""The observer's connection to tuilab."""

from __future__ import annotations

import _socket
import collections
import os

from .own import Own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_QUEUED = 200_000
PATIENCE_S = 10.0


class Channel:
    """Sends messages to tuilab and receives its requests.

    The program's threads only queue messages, so they never wait for tuilab. The observing thread (`sender`)
    sends the messages.
    """

    def __init__(self, address: str) -> None:
        self.sender: int | None = None
        self.queued: collections.deque[tuple[str, str, dict[str, Any]]] = collections.deque(
            maxlen=MOST_QUEUED
        )
        self.socket = Own.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(address)
        self.open, self.inbox = True, b""

    def send(self, kind: str, attached: str = "", **fields: Any) -> None:
        """Queue a message. In the observing thread, also send all queued messages.

        attached: path of a file to send with the message, in pieces to save memory.
        """
        self.queued.append((kind, attached, fields))
        while self.open and self.queued and self.sender == Own.thread():
            kind, attached, fields = self.queued.popleft()
            body = Own.encode({"kind": kind, **fields}).encode()
            try:
                size = os.stat(attached).st_size if attached else 0
                self.pour(len(body).to_bytes(4, "big") + size.to_bytes(4, "big") + body)
                if attached:
                    with Own.open(attached, "rb") as file:
                        for part in iter(lambda: file.read(1 << 20), b""):
                            self.pour(part)
            except OSError:
                # The socket may have accepted part of a message, so tuilab could not read any later message.
                self.close()

    def pour(self, data: bytes) -> None:
        view = memoryview(data)
        while len(view):
            view = view[self.socket.send(view, _socket.MSG_NOSIGNAL) :]

    def request(self) -> Any:
        """Return tuilab's next request, a JSON line; None if there is none."""
        if not self.open:
            return None
        waiting = Own.poll()
        waiting.register(self.socket.fileno(), 1)
        if waiting.poll(0):
            try:
                self.inbox += self.socket.recv(65_536)
            except OSError:
                return None
        line, found, rest = self.inbox.partition(b"\n")
        if not found:
            return None
        self.inbox = rest
        return Own.decode(line.decode())

    def close(self) -> None:
        self.open = False
        try:
            self.socket.close()
        except OSError:
            pass
