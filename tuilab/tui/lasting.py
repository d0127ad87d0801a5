"""Textual when the terminal goes away or something fails: the one file that uses private names of Textual's.

`Driver._file`: the driver offers no other way to bear a terminal that has gone. `App._handle_exception`:
what befalls screens while they are taken away would else end the app with an error. `App._notifications`,
`_unnotify`: what was said can be taken back in no other way. `App._fatal_error`: a fault would else be told
as a traceback on a terminal that may have gone. `App._close_messages_no_wait`: that is how `_fatal_error`
itself ends the app. `textual._xterm_parser` and `Driver._app`, `_loop`, `_debug`: the driver's own thread of
input dies of a byte that is no UTF-8 and of a sequence that names no character, and hands on whatever comes
as fast as it comes. `App._prune` and `Widget._styles_cache`: what removed widgets had drawn is kept else.
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

LOOK_S = 1.0
"""How often it is looked whether the terminal is still there."""
PAINT = 1_000
"""What is longer is a paint of the screen: cells at their places, and nothing else. Characters."""
MOST_WAITING = 8_192
"""Bytes of input that may wait for the app. Where there is more, all is dropped: nobody types as much."""
MOST_PASTED = 8_192
"""Bytes of one paste; what comes after them is left out."""
BEGUN, ENDED = b"\x1b[200~", b"\x1b[201~"
"""Around what a terminal pastes."""
PASTE_S = 2.0
"""After so long without any input a paste has ended, whether its end came or not."""
AT_ONCE = 256
"""Bytes of input that the app is given before it is waited for."""
TICK_S, SETTLED_S = 0.1, 0.005
QUIET_S = 0.5
"""After so long without any input whatever was too much has ended, and what comes next is somebody's own."""
NO_KEYS = re.compile(rb"\x1b[]PX^_][^\x1b\x07]*(?:\x07|\x1b\\)|\x1b\[[0-9;:]*m")
"""What a terminal is told and never tells: strings for it (titles, links, pictures) and colours (ECMA-48, 5.6
and 8.3.117). The parser would type each of their characters."""
UNFINISHED = re.compile(rb"\x1b(?:[]PX^_][^\x1b\x07]*\x1b?|\[[0-9;:]*)?\Z")
"""What may be the beginning of one of those: what follows is looked at first."""
GONE = (errno.EIO, errno.EBADF, errno.ENXIO, errno.EPIPE, errno.ENOTTY)


@contextmanager
def bearing_its_end() -> Iterator[None]:
    """Bear whatever fails within because the terminal has gone."""
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
    """Whether the app is about to end."""

    _drawn: Sequence[StylesCache] = ()
    """What the widgets had drawn that were removed last."""

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        # Textual keeps what removed widgets had drawn (docs/textual-defects.md). Those that went before
        # are painted no more, and forget it here.
        for drawn in self._drawn:
            drawn.clear()
        self._drawn = [w._styles_cache for node in nodes for w in node.walk_children(Widget, with_self=True)]
        return super()._prune(*nodes, parent=parent)

    def fault(self, error: BaseException | None) -> None:
        """Take note of what ends the app."""

    def dropped(self, count: int, pasted: bool = False) -> None:
        """Say that so many bytes of input, or of the end of what was pasted, were dropped."""

    async def on_event(self, event: Event) -> None:
        # Trouble was seen by whoever goes on, and would cover what they go on with.
        if isinstance(event, Key | MouseDown) and not event.is_forwarded:
            # `list` asks for a length, which takes away what has expired under the iterator.
            for said in list(iter(self._notifications)):
                if said.severity != "information":
                    self._unnotify(said)
        await super().on_event(event)

    def on_notify(self, event: Notify) -> None:
        """Do not say again what stands there already: a key held down would cover the screen with it."""
        if any(said.message == event.notification.message for said in self._notifications):
            event.prevent_default()

    def pending(self) -> int:
        """Return messages that wait for the app, its screen or what has the focus."""
        screen = self.screen_stack[-1:]
        focused = [s.focused for s in screen if s.focused is not None]
        return sum(pump.message_queue_size for pump in (self, *screen, *focused))

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
    """Return that driver's class for a terminal that may go: it writes through `terminal`."""

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
                Input(self, self._app, self._loop, XTermParser(self._debug)).read_until(self.exit_event)

    return Lasting


class Input:
    """What is typed and pasted at a terminal, handed on as the app keeps up with it.

    Bytes that are no UTF-8, and sequences that no parser bears, are left out.
    """

    def __init__(self, driver: Any, app: Any, loop: asyncio.AbstractEventLoop, parser: XTermParser) -> None:
        self._driver, self._app, self._loop, self._parser = driver, app, loop, parser
        self._decode = codecs.getincrementaldecoder("utf-8")("ignore").decode
        self._waiting = bytearray()
        self._pasted: bytearray | None = None
        """What has come of a paste whose end has not."""
        self._cut = self._dropped = 0
        self._settled: Future[None] | None = None

    def read_until(self, ended: Any) -> None:
        """Read and hand on until the event is set or the terminal has gone. Raises OSError."""
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
        """Keep what may wait. What is more is dropped whole, and what follows too, until there is a pause."""
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
        """Keep the beginning of a paste; once its end has come it waits like what is typed, in one piece."""
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
        """A parser in the middle of nothing, that knows of the terminal what the last one did."""
        parser = XTermParser()
        for name in ("mouse_pixels", "terminal_size", "terminal_pixel_size"):
            setattr(parser, name, getattr(self._parser, name))
        return parser

    def _renew(self) -> None:
        """The end of a paste, or of a sequence, may be among what was dropped."""
        self._loop.call_soon_threadsafe(self._app.dropped, self._dropped)
        self._dropped, self._parser = 0, self._fresh()

    async def _settle(self) -> None:
        """Wait until the app has done what it was given."""
        while self._app.pending():
            await asyncio.sleep(SETTLED_S)


def is_gone(*files: int) -> bool:
    """Return whether one of the terminals was hung up or closed."""
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
