"""An app for testing one widget."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widget import Widget

import tests.tui.quick  # noqa: F401
from tuilab.tui.widgets.slider import Slider
from tuilab.tui.widgets.table import Table


class Bench(App[None]):
    """An app with one widget. said: messages that a slider or table has posted, in order."""

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget
        self.said: list[tuple[object, object]] = []

    def compose(self) -> ComposeResult:
        yield self.widget

    def on_slider_changed(self, event: Slider.Changed) -> None:
        assert event.name == self.widget.parameter.name
        self.said.append((event.value, event.final))

    def on_table_selected(self, event: Table.Selected) -> None:
        self.said.append(("selected", self.widget.cursor))

    def on_table_moved(self, event: Table.Moved) -> None:
        self.said.append(("moved", self.widget.cursor))


@asynccontextmanager
async def bench(widget: Widget, width: int = 100, height: int = 24) -> AsyncIterator[Pilot[None]]:
    async with Bench(widget).run_test(size=(width, height)) as pilot:
        widget.focus()
        await pilot.pause()
        yield pilot


async def press(pilot: Pilot[None], keys: str) -> None:
    await pilot.press(*keys.split())
    await pilot.pause()


def rows(widget: Widget) -> list[str]:
    return [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]


def shown(widget: Widget) -> str:
    return "\n".join(rows(widget))
