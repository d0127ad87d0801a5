"""Less to send: three places where Textual 8.2 sends more than has changed.

A partial update begins at the left edge of the widget it lies in; every piece of text carries all of its
colours and a reset; a move of the focus repaints the screen. Here an update begins at the first changed
column, only the colours that differ from those of the piece before are sent, and a move of the focus repaints
the two widgets.

And less to keep: Textual remembers two colours of every widget's line cache under the cache itself, so that
what pages which were closed long ago had drawn stays in memory.

Where `NO_COLOR` is set no colour is sent at all; Textual would send greys.
"""

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from rich.color import Color, ColorSystem
from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from textual import _compositor
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual._styles_cache import StylesCache
from textual.color import Color as Shade
from textual.reactive import Reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.style import Style as Look
from textual.widget import Widget

from tuilab.model.sanitize import sanitize_block

PLAIN = ("", "39", "49")
RAISED = (38, 225)
"""Greys of a ground that stands out of a dark theme, from there on, and of a light one, below."""


@lru_cache(16_384)
def _codes(style: Style, system: ColorSystem) -> tuple[str, str, str]:
    """A style's attributes, its colour and its ground, as SGR parameters."""

    def color(value: Color | None, foreground: bool, default: str) -> str:
        if value is None:
            return default
        return ";".join(value.downgrade(system).get_ansi_codes(foreground=foreground))

    attributes = Strip.render_ansi(style.without_color, system)
    return attributes, color(style.color, True, PLAIN[1]), color(style.bgcolor, False, PLAIN[2])


@lru_cache(16_384)
def colourless(style: Style) -> Style:
    """The style without colours; what stands on a ground of its own is reversed."""
    ground = _grey(style.bgcolor, 0)
    raised = ground < RAISED[1] if _grey(style.color, 255) < ground else ground >= RAISED[0]
    return style.without_color + Style(reverse=True) if raised else style.without_color


def _grey(color: Color | None, otherwise: int) -> int:
    """How light a colour is, from 0 to 255, by Rec. 601."""
    if color is None or color.is_default:
        return otherwise
    red, green, blue = color.get_truecolor()
    return round(0.299 * red + 0.587 * green + 0.114 * blue)


class Pen:
    """Writes text to a terminal, with as few changes of colour as it can. Begins and ends without any.

    plain: without any colour in between, too.
    """

    plain = False

    def __init__(self, console: Console) -> None:
        # As Textual does where the console does not say.
        self._system = getattr(console, "_color_system", None) or ColorSystem.TRUECOLOR
        self._now = PLAIN
        self._out: list[str] = []

    def move_to(self, column: int, row: int) -> None:
        """Go to a cell."""
        self._out.append(Control.move_to(column, row).segment.text)

    def write(self, segments: Iterable[Segment]) -> None:
        """Write pieces of text one after another."""
        for text, style, control in segments:
            if not text or control:
                self._out.append(text)
                continue
            if not text.isprintable():
                # Text is cleaned where it comes in; whatever was forgotten there ends here.
                text = sanitize_block(text).replace("\n", "")
            if style is not None and self.plain:
                style = colourless(style)
            if style is not None and style.link:
                # A link has an escape sequence of its own around it.
                self._change(PLAIN)
                self._out.append(Strip.render_style(style, text, self._system))
                continue
            wanted = _codes(style, self._system) if style is not None else PLAIN
            if not wanted[0] and not self._now[0] and text.isspace():
                wanted = ("", self._now[1], wanted[2])
            self._change(wanted)
            self._out.append(text)

    def _change(self, wanted: tuple[str, str, str]) -> None:
        now = self._now
        if wanted == now:
            return
        if wanted == PLAIN:
            self._out.append("\x1b[0m")
        elif wanted[0] != now[0]:
            # Attributes are only ever taken away all at once.
            colors = [code for code, plain in zip(wanted[1:], PLAIN[1:], strict=True) if code != plain]
            self._out.append(f"\x1b[{';'.join(['0', *([wanted[0]] if wanted[0] else []), *colors])}m")
        else:
            changed = [code for code, before in zip(wanted[1:], now[1:], strict=True) if code != before]
            self._out.append(f"\x1b[{';'.join(changed)}m")
        self._now = wanted

    def finish(self) -> str:
        """Everything written, with colours and attributes taken back."""
        self._change(PLAIN)
        return "".join(self._out)


class NarrowUpdate(ChopsUpdate):
    """A partial update of the changed columns alone."""

    def render_segments(self, console: Console) -> str:
        """The terminal's input that brings the changed spans up to date."""
        pen = Pen(console)
        for y, first, last in self.spans:
            for end, (start, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                left, right = max(start, first), min(end, last)
                if strip is None or left >= right:
                    continue
                pen.move_to(left, y)
                pen.write(strip if (left, right) == (start, end) else strip.crop(left - start, right - start))
        return pen.finish()


class WholeUpdate(LayoutUpdate):
    """All of a region."""

    def render_segments(self, console: Console) -> str:
        """The terminal's input that draws the region."""
        pen = Pen(console)
        for y, line in enumerate(self.strips, self.region.y):
            pen.move_to(self.region.x, y)
            for strip in line:
                pen.write(strip)
        return pen.finish()


@lru_cache(1024)
def grounds(base: Shade, ground: Shade) -> tuple[Look, Look]:
    """The grounds inside and outside a widget's border, as `StylesCache.get_inner_outer` has them."""
    return Look(background=base + ground), Look(background=base)


def send_less() -> None:
    """Let the apps of this process send and keep no more than they must; no colour where none is wanted."""
    Pen.plain = bool(os.environ.get("NO_COLOR"))
    _compositor.ChopsUpdate = NarrowUpdate  # type: ignore[misc]
    _compositor.LayoutUpdate = WholeUpdate  # type: ignore[misc]
    StylesCache.get_inner_outer = staticmethod(grounds)  # type: ignore[method-assign, assignment]


class QuietScreen(Screen[Any]):
    """A screen that does not repaint as a whole when the focus moves.

    The widgets that lose and take the focus repaint themselves.
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
