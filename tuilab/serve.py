"""Serves the lab in a browser, through textual-serve.

Each browser page has its own lab process, which pauses while the page is disconnected.
"""

import asyncio
import contextlib
import getpass
import hmac
import os
import re
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
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
LEAVES_S = 5.0
"""Maximum seconds to wait for a lab to exit: once after a request, and again after a signal."""
KEPT_S = 600.0
"""Seconds that a lab survives without a page, for example during a reload."""
SENDS_S = 5.0
"""Seconds after which a page that accepts no output counts as disconnected."""
TAKEN = 4001
"""WebSocket close code for a page whose lab another page has taken over."""
MODES = b"\x1b[?1049h\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h\x1b[?25l\x1b[?2004h"
"""Terminal modes that the web driver sends once, at its start. A reconnected page needs them again."""
ID = re.compile(r"[0-9a-f]{32}")
SCRIPT = """<script>
{
  // Name this tab, so that it finds its lab again after a reload or a dropped connection.
  const name = sessionStorage.lab ||= crypto.getRandomValues(new Uint8Array(16)).reduce(
    (text, byte) => text + byte.toString(16).padStart(2, "0"), "");
  const Socket = window.WebSocket;
  const comeBack = async () => {
    const message = document.querySelector(".closed-dialog .message");
    message.textContent = "The connection is lost. This page tries to reconnect. "
      + "The lab continues as long as its server does.";
    for (let tried = 0; tried < 300; tried++) {
      await new Promise((done) => setTimeout(done, 2000));
      const answer = await fetch("/", {cache: "no-store"}).catch(() => null);
      if (answer?.ok) return location.reload();
      if (answer) break;
    }
    message.textContent = "The server has ended.";
  };
  window.WebSocket = class extends Socket {
    constructor(url) {
      super(url + "&lab=" + name);
      this.addEventListener("close", (event) => {
        const message = document.querySelector(".closed-dialog .message");
        if (event.code === TAKEN) message.textContent = "The lab is open in another page.";
        else if (event.code === STOPPED)
          message.textContent = "The server was stopped, and the lab has ended.";
        else if (event.code !== 1000) comeBack();
        else delete sessionStorage.lab;
      });
    }
  };
  const typing = setInterval(() => {
    const keys = document.querySelector(".xterm-helper-textarea");
    if (!keys) return;
    keys.focus();
    if (document.activeElement === keys) clearInterval(typing);
  }, 50);
}
</script>"""


def script() -> str:
    codes = {"TAKEN": TAKEN, "STOPPED": int(WSCloseCode.GOING_AWAY)}
    return re.sub("|".join(codes), lambda found: str(codes[found[0]]), SCRIPT)


MOST_TYPED = 8_192
"""Maximum number of characters in one input, such as a paste. The rest is dropped, as in a terminal."""
MOST_WAITING = 2**15
"""Maximum number of bytes in the queue for a lab that does not read. asyncio would block at twice this
number.
"""
BEGUN, ENDED = "\x1b[200~", "\x1b[201~"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_ELSEWHERE = re.compile(r"<link[^>]*https?://(?:fonts\.)[^>]*>", re.DOTALL)


@dataclass(eq=False)
class Session:
    """A lab and its current page, if a browser shows the lab."""

    name: str
    lab: AppService
    page: web.WebSocketResponse | None = None
    expiry: asyncio.TimerHandle | None = None

    async def write_bytes(self, data: bytes) -> None:
        if (page := self.page) is not None:
            await self._send(page, page.send_bytes(data))

    async def write_str(self, data: str) -> None:
        if (page := self.page) is not None:
            await self._send(page, page.send_str(data))

    async def _send(self, page: web.WebSocketResponse, sending: Awaitable[None]) -> None:
        try:
            await asyncio.wait_for(sending, SENDS_S)
        except (TimeoutError, ConnectionError, RuntimeError):
            # Sending must not wait for a disconnected page, because the lab and its worker would stall.
            if self.page is page:
                self.page = None

    async def close(self) -> None:
        if self.page is not None:
            with contextlib.suppress(ConnectionError, RuntimeError):
                await self.page.close(code=WSCloseCode.OK)


class LabServer(Server):  # type: ignore[misc]
    """Serves the lab to anyone who has the printed address.

    A browser lets any site open a WebSocket to this machine, and a foreign host name may resolve to this
    machine. The address therefore contains a token, which becomes a cookie for the page's own host, and every
    request needs the token. The server also checks the page's origin.

    A lab without a page survives for `kept_s` seconds. A page finds its own lab by a name that survives a
    reload. A page without a lab takes over the lab that was abandoned last.
    """

    def __init__(self, host: str, port: int, kept_s: float = KEPT_S) -> None:
        command = guest.command("tuilab", "--hangup", "end", "--served")
        shown = f"[{host}]" if ":" in host else host
        # `exec` replaces the shell with the lab, which makes the server the lab's parent. Only some shells do
        # this by themselves.
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
        self._kept_s = kept_s
        self._sessions: list[Session] = []
        """Sessions, from the least to the most recently used."""

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._own_pages_only)
        return app

    @web.middleware  # type: ignore[untyped-decorator]
    async def _own_pages_only(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not allowed(request.headers.get("Host", ""), request.headers.get("Origin"), self.host):
            raise web.HTTPForbidden(text="this lab is served only to its own page")
        given = request.query.get("token", "")
        if request.path == "/" and given and self._fits(given):
            answer = web.HTTPFound("/")
            answer.set_cookie(self._cookie, self.token, httponly=True, samesite="Strict")
            raise answer
        if not self._fits(request.cookies.get(self._cookie, "")):
            raise web.HTTPForbidden(
                text="open the whole address that tuilab serve printed: it contains a token"
            )
        if not _fits_a_screen(request.query.get("width", "80"), request.query.get("height", "24")):
            raise web.HTTPBadRequest(text="the screen size is invalid")
        # Load resources from the address under which the page itself was loaded.
        self.public_url = f"{request.scheme}://{request.host}"
        response: web.StreamResponse = await handler(request)
        if not response.prepared:
            if isinstance(response, web.Response) and response.content_type == "text/html" and response.text:
                response.text = _ELSEWHERE.sub("", response.text).replace("<head>", f"<head>{script()}", 1)
            response.headers["Content-Security-Policy"] = POLICY
            response.headers["X-Frame-Options"] = "DENY"
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def _fits(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Serve a page's WebSocket. Reconnects the page to its own lab, takes over an abandoned lab, or
        starts a new lab.
        """
        page = web.WebSocketResponse(heartbeat=15)
        await page.prepare(request)
        size = int(request.query.get("width", "80")), int(request.query.get("height", "24"))
        name = request.query.get("lab", "")
        session = self._find(name if ID.fullmatch(name) else "")
        if session is None:
            session = await self._start(name, page, size)
        else:
            await self._return(session, name, page, size)
        try:
            async for message in page:
                if message.type == WSMsgType.TEXT and session.page is page:
                    await _pass_on(message, page, session.lab)
        finally:
            if session.page in (page, None) and session in self._sessions:
                await self._leave(session)
        return page

    def _find(self, name: str) -> Session | None:
        own = next((each for each in self._sessions if name and each.name == name), None)
        left = [each for each in self._sessions if each.page is None]
        return own or (left[-1] if left else None)

    async def _start(self, name: str, page: web.WebSocketResponse, size: tuple[int, int]) -> Session:
        async def later(*_: object) -> None:
            raise AssertionError("the session is not set yet")

        lab = AppService(
            self.command,
            write_bytes=later,
            write_str=later,
            close=later,
            download_manager=self.download_manager,
            debug=self.debug,
        )
        session = Session(name, lab, page)
        lab.remote_write_bytes, lab.remote_write_str = session.write_bytes, session.write_str
        lab.remote_close = session.close
        self._sessions.append(session)
        if len(self._sessions) > 1:
            sys.stderr.write(
                f"{len(self._sessions)} labs are open: each has its own worker, and they disturb each other\n"
            )
        await lab.start(*size)
        lab._task.add_done_callback(lambda _: asyncio.ensure_future(self._over(session)))
        return session

    async def _return(
        self, session: Session, name: str, page: web.WebSocketResponse, size: tuple[int, int]
    ) -> None:
        """Connect a page to a running lab: send the terminal modes, then the whole screen."""
        before, session.page, session.name = session.page, page, name
        if session.expiry is not None:
            session.expiry.cancel()
            session.expiry = None
        if before is not None:
            with contextlib.suppress(ConnectionError, RuntimeError, TimeoutError):
                await asyncio.wait_for(before.close(code=TAKEN), SENDS_S)
        await session.write_bytes(MODES)
        await session.lab.set_terminal_size(*size)
        await session.lab.focus()  # this makes the lab redraw its screen

    async def _leave(self, session: Session) -> None:
        session.page = None
        self._sessions.remove(session)
        self._sessions.append(session)
        if self._kept_s <= 0:
            await self._over(session)
            return
        loop = asyncio.get_running_loop()
        session.expiry = loop.call_later(self._kept_s, lambda: asyncio.ensure_future(self._over(session)))

    async def _over(self, session: Session) -> None:
        if session not in self._sessions:
            return
        self._sessions.remove(session)
        if session.expiry is not None:
            session.expiry.cancel()
        await session.close()
        await _end(session.lab)

    async def on_shutdown(self, app: web.Application) -> None:
        """End the lab of each page properly before the server exits."""
        for session in list(self._sessions):
            if session.page is not None:
                with contextlib.suppress(ConnectionError, RuntimeError):
                    await session.page.close(code=WSCloseCode.GOING_AWAY)
            session.page = None
        await asyncio.gather(*(self._over(session) for session in list(self._sessions)))

    async def on_startup(self, app: web.Application) -> None:
        """Schedule the message with the address, because the port is not open yet."""
        self._said = asyncio.create_task(self._say())

    async def _say(self) -> None:
        """Print the address, how to reach it from another machine, and how to stop the server."""
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(self.host, self.port)
                writer.close()
                break
            await asyncio.sleep(0.01)
        sys.stderr.write(f"the lab is at {self._address}/?token={self.token}\nCtrl-C ends it\n")
        if self.host in LOOPBACK:
            sys.stderr.write(
                f"from another machine: {tunnel(self.host, self.port, os.environ)}, then open this address\n"
            )

    def initialize_logging(self) -> None:
        """Do nothing, because the lab processes write their own logs."""


LOOPBACK = ("localhost", "127.0.0.1", "::1")


def tunnel(host: str, port: int, environment: Mapping[str, str]) -> str:
    shown = f"[{host}]" if ":" in host else host
    connection = environment.get("SSH_CONNECTION", "").split()
    here = connection[2] if len(connection) == 4 else socket.gethostname()
    return f"ssh -L {port}:{shown}:{port} {getpass.getuser()}@{here}"


async def _end(lab: AppService) -> None:
    """Wait until a page's lab has ended. Sends a signal if the lab is busy or suspended."""
    if (process := lab._process) is None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL, None):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(lab.stop(), LEAVES_S)  # stop() waits only for the lab's last output
            await asyncio.wait_for(process.wait(), LEAVES_S)
            return
        if number is not None and process.returncode is None:
            process.send_signal(number)


def _bounded(data: str) -> str:
    if len(data) <= MOST_TYPED:
        return data
    sys.stderr.write(
        f"a page sent {len(data):,} characters at once: only the first {MOST_TYPED:,} were used\n"
    )
    return data[:MOST_TYPED] + ENDED * data.startswith(BEGUN)


async def _pass_on(message: WSMessage, websocket: web.WebSocketResponse, lab: AppService) -> None:
    try:
        told = message.json()
    except (ValueError, RecursionError):  # the message is not JSON, or is nested too deeply
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
    """Return True if the headers show that the request comes from a page of the server at `served`.

    All names of the loopback address count as equal. A request without an origin passes, because a browser
    always sends an origin with a foreign page's WebSocket request.
    """
    names = LOOPBACK if served in LOOPBACK else (served.lower(),)
    everywhere = served in ("0.0.0.0", "::")
    try:
        asked = urlsplit(f"//{host}").hostname or ""
        came = urlsplit(origin).netloc if origin is not None else host
    except ValueError:
        return False
    return bool(asked) and (everywhere or asked in names) and came == host
