"""Keeps Textual running, or exits cleanly, when the terminal disappears or an error occurs.

This is the only file that uses private names of Textual:

- `Driver._file`: the only way to survive the loss of the terminal.
- `App._handle_exception`: otherwise errors of screens being removed would end the app with an error.
- `App._notifications`, `_unnotify`, `ToastRack`: the only way to remove a notification.
- `App._fatal_error`: otherwise an error would print a traceback to a terminal that may be gone.
- `App._close_messages_no_wait`: how `_fatal_error` itself ends the app.
- `textual._xterm_parser` and `Driver._app`, `_loop`, `_debug`: the driver's input thread crashes on bytes
that are not UTF-8 and on sequences without a character, and does not wait for the app to process input.
- `App._prune` and `Widget._styles_cache`: otherwise the cached renderings of removed widgets stay in memory.
"""

import asyncio
import codecs
import errno
import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from textual._styles_cache import StylesCache
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.dom import DOMNode
from textual.driver import Driver
from textual.events import Event, Key, MouseDown
from textual.notifications import Notify
from textual.widget import Widget
from textual.widgets._toast import ToastRack

LOOK_S = 1.0
"""Interval between checks that the terminal still exists."""
PAINT = 1_000
"""An output that is longer than this number of characters is dropped if it equals the previous output.

Such long outputs paint cells at fixed positions, so repeating them changes nothing.
"""
MOST_WAITING = 8_192
"""Maximum bytes of input waiting for the app, in addition to a paste of `MOST_PASTED` bytes. If more input
arrives, all of it is dropped: nobody types this fast.
"""
MOST_PASTED = 8_192
"""Maximum bytes of a paste; further bytes are dropped."""
BEGUN, ENDED = b"\x1b[200~", b"\x1b[201~"
"""Sequences that a terminal sends before and after a paste."""
PASTE_S = 2.0
"""Pause in the input, in seconds, that ends a paste whose end marker is missing."""
AT_ONCE = 256
"""Maximum bytes of input that the app gets at a time. More input follows when the app has processed these
bytes.
"""
TICK_S, SETTLED_S = 0.1, 0.005
QUIET_S = 0.5
"""Pause in the input, in seconds, after which input is accepted again if too much had arrived."""
NO_KEYS = re.compile(rb"\x1b[]PX^_][^\x1b\x07]*(?:\x07|\x1b\\)|\x1b\[[0-9;:]*m")
"""Matches sequences that a terminal receives but never sends: strings (titles, links, images) and colors
(ECMA-48, 5.6 and 8.3.117). Textual's parser would read their characters as typed keys.
"""
OPENING = re.compile(rb"[^\x1bA-Za-z/\r]*[A-Za-z/\r]")
ENTER = re.compile(rb"[^\x1b\r]*\r")
UNFINISHED = re.compile(rb"\x1b(?:[]PX^_][^\x1b\x07]*\x1b?|\[[0-9;:]*)?\Z")
"""Matches the start of an unfinished sequence of `NO_KEYS`. Such input is kept until the rest of the sequence
arrives.
"""
GONE = (errno.EIO, errno.EBADF, errno.ENXIO, errno.EPIPE, errno.ENOTTY)


@contextmanager
def bearing_its_end() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in GONE:
            raise


class Forgiving:
    """A terminal's file that ignores writes after the terminal has disappeared.

    Textual writes in a thread. If an error ended this thread, the app would wait for the thread forever.
    """

    file: Any
    sent = 0
    _last = ""

    def write(self, text: str) -> int:
        # When a screen is shown again, Textual paints it twice with the same bytes.
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
    """An app that exits cleanly after any failure."""

    leaving = False

    _drawn: Sequence[StylesCache] = ()
    """Cached renderings of the most recently removed widgets."""

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        # Textual keeps the cached renderings of removed widgets (docs/textual-defects.md). The widgets of an
        # earlier removal are never painted again, so their caches can be cleared.
        for drawn in self._drawn:
            drawn.clear()
        self._drawn = [w._styles_cache for node in nodes for w in node.walk_children(Widget, with_self=True)]
        return super()._prune(*nodes, parent=parent)

    def fault(self, error: BaseException | None) -> None:
        """Record the error that ends the app."""

    def dropped(self, count: int, pasted: bool = False) -> None:
        """Notify the user that `count` bytes of input were dropped; if `pasted`, they were the end of a
        paste.
        """

    async def on_event(self, event: Event) -> None:
        # A key or click shows that the user has seen the warnings, so remove them.
        if isinstance(event, Key | MouseDown) and not event.is_forwarded:
            # `list` would call `__len__`, which removes expired items during the iteration
            for said in list(iter(self._notifications)):
                if said.severity != "information":
                    self._unnotify(said)
        await super().on_event(event)

    def on_notify(self, event: Notify) -> None:
        """Ignore a notification that is already visible. Otherwise a held key would fill the screen with
        copies.
        """
        if any(said.message == event.notification.message for said in self._notifications):
            event.prevent_default()

    def withdraw(self, message: str) -> None:
        """Remove a notification, even if it was sent just now."""

        def remove() -> None:
            for said in [said for said in self._notifications if said.message == message]:
                self._unnotify(said, refresh=False)
            # `_unnotify` refreshes only the top screen, but screens below also show notifications
            for screen in self.screen_stack:
                for rack in screen.query(ToastRack):
                    rack.show(self._notifications)

        self.call_later(remove)  # runs after the message that shows the notification

    def pending(self) -> int:
        """Return the number of unprocessed messages of the app, its screen and the focused widget."""
        screen = self.screen_stack[-1:]
        focused = [s.focused for s in screen if s.focused is not None]
        return sum(pump.message_queue_size for pump in (self, *screen, *focused))

    def in_field(self) -> bool:
        """Return True if a text field has the focus. Any thread may call this method."""
        focused = [screen.focused for screen in self.screen_stack[-1:] if screen.focused is not None]
        return any(widget.check_consume_key("a", "a") for widget in focused)

    def _handle_exception(self, error: Exception) -> None:
        # ignore errors from screens that are being removed
        if not self.leaving:
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        if self.is_headless:
            super()._fatal_error()
            return
        self.fault(sys.exception())
        self._close_messages_no_wait()


def lasting(base: type[Driver], terminal: Forgiving) -> type[Driver]:
    """Return a driver class that writes to `terminal`, so that the app survives the loss of the terminal."""

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
            # Textual starts an input thread on each SIGCONT, which the kernel also sends with SIGHUP. Without
            # a preceding stop, this second thread would wait forever for keys from a terminal that is gone.
            if self.suspended:
                self.suspended = False
                super().resume_application_mode()

        def run_input_thread(self) -> None:
            with bearing_its_end():
                Input(self, self._app, self._loop, XTermParser(self._debug)).read_until(self.exit_event)

    return Lasting


class Input:
    """Passes typed and pasted input to the app no faster than the app processes it.

    Drops bytes that are not UTF-8, and sequences that crash Textual's parser.
    """

    def __init__(self, driver: Any, app: Any, loop: asyncio.AbstractEventLoop, parser: XTermParser) -> None:
        self._driver, self._app, self._loop, self._parser = driver, app, loop, parser
        self._decode = codecs.getincrementaldecoder("utf-8")("ignore").decode
        self._waiting = bytearray()
        self._pasted: bytearray | None = None
        self._cut = self._dropped = 0
        self._settled: Future[None] | None = None

    def read_until(self, ended: Any) -> None:
        """Pass on input until `ended` is set or the terminal is gone. Raises OSError."""
        while not ended.is_set():
            busy = self._settled is not None and not self._settled.done()
            patience = SETTLED_S if busy or self._waiting else QUIET_S if self._dropped else TICK_S
            patience = patience if self._pasted is None else PASTE_S
            came = select.select([self._driver.fileno], [], [], patience)[0]
            if came:
                data = os.read(self._driver.fileno, 4096)
                if not data:
                    return
                self._take(data)
            elif self._pasted is not None:
                self._take(ENDED)
            if busy or (came and UNFINISHED.search(self._waiting)):
                continue
            if self._waiting:
                self._hand_on()
            elif self._dropped:
                if not came:
                    self._renew()
            else:
                self._bear(self._parser.tick)

    def _take(self, data: bytes) -> None:
        """Queue input. If the queue exceeds its limit, drop the whole queue, and further input until the next
        pause.
        """
        if self._pasted is not None:
            self._pasted += data
        else:
            self._waiting = bytearray(NO_KEYS.sub(b"", bytes(self._waiting) + data))
            begun = self._waiting.rfind(BEGUN)
            if begun > self._waiting.rfind(ENDED) and not self._dropped:
                self._pasted = self._waiting[begun + len(BEGUN) :]
                del self._waiting[begun:]
        if self._pasted is not None:
            self._take_pasted(self._pasted)
        if self._dropped or len(self._waiting) > MOST_WAITING + MOST_PASTED:
            self._dropped += len(self._waiting)
            self._waiting.clear()

    def _take_pasted(self, pasted: bytearray) -> None:
        """Collect a paste up to the limit. When the paste ends, queue it in one piece."""
        end = pasted.find(ENDED)
        over = (end if end >= 0 else len(pasted) - len(ENDED)) - MOST_PASTED
        if over > 0:
            del pasted[MOST_PASTED : MOST_PASTED + over]
            self._cut, end = self._cut + over, end - over
        if pasted.find(ENDED) < 0:
            return
        self._waiting += BEGUN + NO_KEYS.sub(b"", bytes(pasted[:end])) + ENDED
        self._pasted = None
        if self._cut:
            self._loop.call_soon_threadsafe(self._app.dropped, self._cut, True)
            self._cut = 0
        self._take(bytes(pasted[end + len(ENDED) :]))

    def _hand_on(self) -> None:
        begun = self._waiting.find(BEGUN)
        count = min(AT_ONCE, begun) if begun > 0 else AT_ONCE
        if key := (ENTER if self._app.in_field() else OPENING).match(self._waiting):
            count = (
                key.end()
            )  # the key may open a text field or move the focus, and the following text belongs there
        if begun == 0:
            count = self._waiting.find(ENDED) + len(ENDED)
        text = self._decode(bytes(self._waiting[:count]))
        del self._waiting[:count]
        if text:
            self._bear(lambda: self._parser.feed(text))
            self._settled = asyncio.run_coroutine_threadsafe(self._settle(), self._loop)

    def _bear(self, events: Callable[[], Any]) -> None:
        try:
            for event in events():
                self._driver.process_message(event)
        except (ValueError, OverflowError, RuntimeError, IndexError, StopIteration):
            self._parser = self._fresh()

    def _fresh(self) -> XTermParser:
        """Return a new parser with the old parser's mouse mode and terminal size."""
        parser = XTermParser()
        for name in ("mouse_pixels", "terminal_size", "terminal_pixel_size"):
            setattr(parser, name, getattr(self._parser, name))
        return parser

    def _renew(self) -> None:
        """Replace the parser: the dropped input may have contained the end of a paste or sequence."""
        self._loop.call_soon_threadsafe(self._app.dropped, self._dropped)
        self._dropped, self._parser = 0, self._fresh()

    async def _settle(self) -> None:
        quiet = 0
        while quiet < 2:  # a new screen is idle for a moment before it sets the focus
            await asyncio.sleep(SETTLED_S)
            quiet = 0 if self._app.pending() else quiet + 1


def is_gone(*files: int) -> bool:
    """Return True if one of these terminals was hung up or closed."""
    poll = select.poll()
    for fd in files:
        poll.register(fd, 0)
    return any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0))


def watch(loop: Any, gone: Callable[[], None]) -> None:
    """Call `gone` when standard input or standard error loses its terminal."""
    files = [fd for fd in (0, 2) if os.isatty(fd)]

    def look() -> None:
        if is_gone(*files):
            gone()
        else:
            loop.call_later(LOOK_S, look)

    if files:
        loop.call_later(LOOK_S, look)
