"""Textual when the terminal goes away or something fails: the one file that uses private names of Textual's.

`Driver._file`: the driver offers no other way to bear a terminal that has gone. `App._handle_exception`: what
befalls screens while they are taken away would else end the app with an error. `App._fatal_error`: a fault
would else be told as a traceback on a terminal that may have gone. `App._close_messages_no_wait`: that is how
`_fatal_error` itself ends the app.
"""

import errno
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from textual.app import App
from textual.driver import Driver

LOOK_S = 1.0
"""How often it is looked whether the terminal is still there."""
PAINT = 1_000
"""What is longer is a paint of the screen: cells at their places, and nothing else. Characters."""
GONE = (errno.EIO, errno.EBADF, errno.ENXIO, errno.EPIPE, errno.ENOTTY)


@contextmanager
def bearing_its_end() -> Iterator[None]:
    """Whatever fails within because the terminal has gone is of no consequence."""
    try:
        yield
    except OSError as error:
        if error.errno not in GONE:
            raise


class Forgiving:
    """A file whose reader may be gone: then what is written is dropped.

    Textual writes from a thread of its own; were that to die of an error, the app would wait for it for ever.
    """

    file: Any
    """The terminal."""
    sent = 0
    """Bytes that were written there so far."""
    _last = ""

    def write(self, text: str) -> int:
        # Textual paints a screen that comes up again twice, with the same bytes.
        if len(text) > PAINT and text == self._last:
            return len(text)
        self._last = text
        self.sent += len(text) if text.isascii() else len(text.encode())
        with bearing_its_end():
            self.file.write(text)
        return len(text)

    def flush(self) -> None:
        with bearing_its_end():
            self.file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


class LastingApp(App[int]):
    """An app that ends in order whatever fails in it."""

    leaving = False
    """It is about to end."""

    def fault(self, error: BaseException | None) -> None:
        """Take note of what ends the app."""

    def _handle_exception(self, error: Exception) -> None:
        # What befalls screens that are being taken away is of no consequence any more.
        if not self.leaving:
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        if self.is_headless:
            super()._fatal_error()
            return
        self.fault(sys.exception())
        self._close_messages_no_wait()


def lasting(base: type[Driver], terminal: Forgiving) -> type[Driver]:
    """That driver, on a terminal that may go: what it writes goes through `terminal`."""

    class Lasting(base):  # type: ignore[valid-type, misc]
        _file: Any
        suspended = False

        def __init__(self, app: Any, **given: Any) -> None:
            super().__init__(app, **given)
            terminal.file, self._file = self._file, terminal

        def suspend_application_mode(self) -> None:
            self.suspended = True
            super().suspend_application_mode()

        def resume_application_mode(self) -> None:
            # SIGCONT comes without a stop too: the kernel sends it with the hangup. A second thread of input
            # would outlive the app, and look for keys at a terminal that has gone, for ever.
            if self.suspended:
                self.suspended = False
                super().resume_application_mode()

        def run_input_thread(self) -> None:
            with bearing_its_end():
                super().run_input_thread()

    return Lasting


def is_gone(*files: int) -> bool:
    """Whether one of the terminals was hung up or closed."""
    poll = select.poll()
    for fd in files:
        poll.register(fd, 0)
    return any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0))


def watch(loop: Any, gone: Callable[[], None]) -> None:
    """Call `gone` once standard input or standard error is no terminal any more."""
    files = [fd for fd in (0, 2) if os.isatty(fd)]

    def look() -> None:
        if is_gone(*files):
            gone()
        else:
            loop.call_later(LOOK_S, look)

    if files:
        loop.call_later(LOOK_S, look)
