"""The lab in a browser, by textual-serve: one lab process a page."""

import shlex
import sys
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server


class LabServer(Server):  # type: ignore[misc]
    """Serves the lab to pages of its own alone.

    A browser lets any site open a WebSocket to this machine; the page's origin tells them apart, and a
    host name that is not the one served (a rebound one) is refused too.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(shlex.join([sys.executable, "-m", "tuilab"]), host=host, port=port, title="tuilab")

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._own_pages_only)
        return app

    @web.middleware  # type: ignore[untyped-decorator]
    async def _own_pages_only(self, request: web.Request, handler: object) -> web.StreamResponse:
        if not allowed(request.headers.get("Host", ""), request.headers.get("Origin"), self.host):
            raise web.HTTPForbidden(text="this lab is served to its own page alone")
        response: web.StreamResponse = await handler(request)  # type: ignore[operator]
        return response

    async def on_startup(self, app: web.Application) -> None:
        """Say where, and how to end it."""
        sys.stderr.write(f"the lab is at {self.public_url}; Ctrl-C ends it\n")

    def initialize_logging(self) -> None:
        """Nothing: what goes wrong is in the pages' own logs."""


def allowed(host: str, origin: str | None, served: str) -> bool:
    """Whether a request with these headers comes from a page of the server at `served`.

    A loopback address is reached by any of its names. Anything may come without an origin but a WebSocket
    of a foreign page, which always has one.
    """
    loopback = {"localhost", "127.0.0.1", "[::1]"}
    names = loopback if served in ("localhost", "127.0.0.1", "::1") else {served}
    everywhere = served in ("0.0.0.0", "::")
    asked = urlsplit(f"//{host}")
    if not everywhere and (asked.hostname or "") not in {name.strip("[]") for name in names}:
        return False
    return origin is None or urlsplit(origin).netloc == host
