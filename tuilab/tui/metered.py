"""Textual's driver with a meter on it: what is written is counted, and the terminal asked when it arrived."""

import time
from functools import cache
from typing import TYPE_CHECKING, Any

from textual import events
from textual.driver import Driver
from textual.message import Message

from tuilab.tui.link import QUESTION, Link

if TYPE_CHECKING:
    from textual.app import App

LAST_S = 0.5
"""How long the end waits for an answer, which would else be typed into the shell."""


class Timed:
    """A file that says how long each write and flush took."""

    def __init__(self, file: Any, link: Link) -> None:
        self._file, self._link, self._count = file, link, 0

    def write(self, text: str) -> int:
        begun = time.monotonic()
        self._count += len(text)
        written: int = self._file.write(text)
        self._link.blocked(self._count, time.monotonic() - begun)
        return written

    def flush(self) -> None:
        begun = time.monotonic()
        self._file.flush()
        self._link.blocked(self._count, time.monotonic() - begun)
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@cache
def metered(base: type[Driver]) -> type[Driver]:
    """That driver, with a meter: the app's `link`."""

    class Metered(base):  # type: ignore[valid-type, misc]
        def __init__(self, app: "App[Any]", **given: Any) -> None:
            super().__init__(app, **given)
            self._link: Link = app.link  # type: ignore[attr-defined]
            self._file: Any = Timed(self._file, self._link)

        def write(self, data: str) -> None:
            self._link.wrote(len(data) if data.isascii() else len(data.encode()))
            super().write(data)

        def ask(self) -> None:
            """Ask the terminal to say when all this has arrived, unless it is asked already."""
            tag = self._link.ask()
            if tag:
                super().write(QUESTION.format(tag))

        def process_message(self, message: Message) -> None:
            if not isinstance(message, events.CursorPosition):
                if isinstance(message, events.InputEvent | events.Paste):
                    self._link.key()
                super().process_message(message)
                return
            self._link.answered(message.x + 1)
            self._loop.call_soon_threadsafe(self._arrived)

        def _arrived(self) -> None:
            if self._app._running:
                self._app.screen.post_message(Arrived())
                self.ask()

        def stop_application_mode(self) -> None:
            end = time.monotonic() + LAST_S
            while self._link.answers and self._link.waiting and time.monotonic() < end:
                time.sleep(0.01)
            super().stop_application_mode()

    return Metered


class Arrived(Message, bubble=False):
    """What was sent has been drawn: more may be sent."""
