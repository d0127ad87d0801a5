"""Speeds up Textual in tests: a process parses the style sheets only once, and a wait ends when nothing is
pending.
"""

import asyncio

import textual.app
import textual.pilot
from textual._context import active_app
from textual.app import App
from textual.css.stylesheet import Stylesheet


class Kept(dict[object, object]):
    """The parsed style sheets for one set of variables. `clear` does nothing, because all apps share these
    sheets.
    """

    def clear(self) -> None:
        pass


RULES: dict[frozenset[tuple[str, str]], Kept] = {}
parse = Stylesheet.parse


def parsed_once(sheet: Stylesheet) -> None:
    """Cache the parsed rules. Most of an app's startup is spent on rules that all apps share."""
    sheet._parse_cache = RULES.setdefault(frozenset(sheet._variables.items()), Kept())  # type: ignore[assignment]
    parse(sheet)


async def handled_soon(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """A replacement for Textual's wait for an idle processor, which takes at least 20 ms, and up to a second
    on a busy machine.
    """
    try:
        await handled(active_app.get())
    except LookupError:
        await asyncio.sleep(0.02)


async def handled(app: App[object]) -> bool:
    """Wait until every message is handled and all changes are painted. Returns False after half a second."""
    loop = asyncio.get_running_loop()
    for _ in range(250):
        for _ in range(100):
            await asyncio.sleep(0)
            if not loop._ready:  # type: ignore[attr-defined]
                break  # nothing is left to do
        if settled(app):
            return True
        await asyncio.sleep(0.002)
    return False


def settled(app: App[object]) -> bool:
    screen = app.screen
    if screen._dirty_widgets or screen._layout_required or screen._callbacks:
        return False
    if app._batch_count or app._resize_event is not None:
        return False
    nodes = (node for shown in (screen, *app._background_screens) for node in shown.walk_children())
    return all(node.message_queue_size == 0 for node in (app, *app.screen_stack, *nodes))


Stylesheet.parse = parsed_once  # type: ignore[method-assign]
textual.app.wait_for_idle = textual.pilot.wait_for_idle = handled_soon
