"""The lab in a browser, by textual-serve: one lab process a page."""

import asyncio
import contextlib
import hmac
import re
import secrets
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.server import Server

from tuilab import guest

POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self' ws: wss:; font-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'"
)
WIDEST, HIGHEST = 1_000, 400
"""Characters; no screen has more."""
LEAVES_S = 5.0
"""For a page's lab to end once the page has gone; as long again after it was told by a signal."""
MOST_TYPED = 8_192
"""Characters that a page may send at once, as a paste; the rest is left out, as in a terminal."""
MOST_WAITING = 2**15
"""Bytes that may wait for a lab which reads nothing now; asyncio would wait for it from twice as many on."""
BEGUN, ENDED = "\x1b[200~", "\x1b[201~"
"""Around what is pasted."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_ELSEWHERE = re.compile(r"<link[^>]*https?://(?:fonts\.)[^>]*>", re.DOTALL)


class LabServer(Server):  # type: ignore[misc]
    """Serves the lab to those who have the address that it prints.

    A browser lets any site open a WebSocket to this machine, and a host name that a site chose may lead here:
    the address holds a token, which becomes a cookie of the page's own host, and every request needs it. The
    page's origin is looked at too.
    """

    def __init__(self, host: str, port: int) -> None:
        command = guest.command("tuilab", "--hangup", "end", "--served")
        shown = f"[{host}]" if ":" in host else host
        # The shell becomes the lab, whose parent is then the server: not every shell does that by itself.
        super().__init__(
            f"exec {shlex.join(command)}",
            host=host,
            port=port,
            title="tuilab",
            public_url=f"http://{shown}:{port}",
        )
        self.token = secrets.token_urlsafe(24)
        self._cookie = f"tuilab-{port}"
        self._address = self.public_url
        self._pages: set[web.WebSocketResponse] = set()

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._own_pages_only)
        return app

    @web.middleware  # type: ignore[untyped-decorator]
    async def _own_pages_only(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not allowed(request.headers.get("Host", ""), request.headers.get("Origin"), self.host):
            raise web.HTTPForbidden(text="this lab is served to its own page alone")
        given = request.query.get("token", "")
        if request.path == "/" and given and self._fits(given):
            answer = web.HTTPFound("/")
            answer.set_cookie(self._cookie, self.token, httponly=True, samesite="Strict")
            raise answer
        if not self._fits(request.cookies.get(self._cookie, "")):
            raise web.HTTPForbidden(text="open the whole address that tuilab serve printed: it holds a token")
        if not _fits_a_screen(request.query.get("width", "80"), request.query.get("height", "24")):
            raise web.HTTPBadRequest(text="no screen has that size")
        # What the page is told to load comes from where the page came.
        self.public_url = f"{request.scheme}://{request.host}"
        response: web.StreamResponse = await handler(request)
        if not response.prepared:
            if isinstance(response, web.Response) and response.content_type == "text/html" and response.text:
                response.text = _ELSEWHERE.sub("", response.text)
            response.headers["Content-Security-Policy"] = POLICY
            response.headers["X-Frame-Options"] = "DENY"
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def _fits(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        """Pass on what a page says, as long as it is open; what no page of ours says is dropped."""
        self._pages.add(websocket)
        if (open_now := len(self._pages)) > 1:
            sys.stderr.write(
                f"{open_now} pages are open: each has a worker of its own, and they disturb each other\n"
            )
        try:
            async for message in websocket:
                if message.type == WSMsgType.TEXT:
                    await _pass_on(message, websocket, app_service)
        finally:
            self._pages.discard(websocket)
            await _end(app_service)

    async def on_shutdown(self, app: web.Application) -> None:
        """Close the pages, so that each one's lab ends in order before the server does."""
        for websocket in list(self._pages):
            await websocket.close(code=WSCloseCode.GOING_AWAY)

    async def on_startup(self, app: web.Application) -> None:
        """Say where, and how to end it."""
        sys.stderr.write(f"the lab is at {self._address}/?token={self.token}; Ctrl-C ends it\n")

    def initialize_logging(self) -> None:
        """Set nothing up: what goes wrong is in the pages' own logs."""


async def _end(lab: AppService) -> None:
    """Wait until a page's lab has ended; one that is busy, or stopped, is told so by signals."""
    if (process := lab._process) is None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL, None):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(lab.stop(), LEAVES_S)  # which waits for the last output alone
            await asyncio.wait_for(process.wait(), LEAVES_S)
            return
        if number is not None and process.returncode is None:
            process.send_signal(number)


def _bounded(data: str) -> str:
    if len(data) <= MOST_TYPED:
        return data
    sys.stderr.write(f"a page sent {len(data):,} characters at once: {MOST_TYPED:,} of them were taken\n")
    return data[:MOST_TYPED] + ENDED * data.startswith(BEGUN)


async def _pass_on(message: WSMessage, websocket: web.WebSocketResponse, lab: AppService) -> None:
    try:
        told = message.json()
    except (ValueError, RecursionError):  # no JSON, or nested beyond all reason
        return
    pipe = lab.stdin.transport
    if (
        lab._process.returncode is not None
        or pipe.is_closing()
        or pipe.get_write_buffer_size() > MOST_WAITING
    ):
        return
    match told:
        case ["stdin", str(data)]:
            await lab.send_bytes(_bounded(data).encode("utf-8", "replace"))
        case ["resize", {"width": int(width), "height": int(height)}]:
            await lab.set_terminal_size(min(max(width, 1), WIDEST), min(max(height, 1), HIGHEST))
        case ["ping", data]:
            await websocket.send_json(["pong", data])
        case ["blur", *_]:
            await lab.blur()
        case ["focus", *_]:
            await lab.focus()


def _fits_a_screen(*sizes: Any) -> bool:
    return all(size.isascii() and size.isdigit() and 0 < int(size[:9]) <= WIDEST for size in sizes)


def allowed(host: str, origin: str | None, served: str) -> bool:
    """Return whether a request with these headers comes from a page of the server at `served`.

    A loopback address is reached by any of its names. Anything may come without an origin but a WebSocket
    of a foreign page, which always has one.
    """
    loopback = {"localhost", "127.0.0.1", "::1"}
    names = loopback if served in loopback else {served.lower()}
    everywhere = served in ("0.0.0.0", "::")
    try:
        asked = urlsplit(f"//{host}").hostname or ""
        came = urlsplit(origin).netloc if origin is not None else host
    except ValueError:
        return False
    return bool(asked) and (everywhere or asked in names) and came == host
