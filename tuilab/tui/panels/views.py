"""The panel with the tabs and, below the tabs, the open view."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from textual import events
from textual.containers import Vertical
from textual.message import Message

from tuilab.presentation.view_options import ViewOptions
from tuilab.tui.actions import VIEWS
from tuilab.tui.views.base import View

if TYPE_CHECKING:
    from textual.widgets import Tabs

    from tuilab.lab import Lab

TAB_STEP = 10
"""Cells that the tabs move for one step of the mouse wheel."""


class Views(Vertical):
    HELP = """\
## Views

All views show the same run. **{previous-view} {next-view}** go to the view on the left or right. Each view
also has its own key. A click on a tab opens its view; the wheel scrolls tabs that do not fit. While a slider
has the focus, a view's key shows the view; pressing it again moves the focus there.
"""

    class Opened(Message):
        def __init__(self, key: str, view: View) -> None:
            super().__init__()
            self.key, self.view = key, view

    def __init__(self) -> None:
        super().__init__(id="views", classes="frame")
        self.key = "live"
        self._views: dict[str, View] = {}

    @property
    def view(self) -> View | None:
        """The open view; None before it is created."""
        view = self._views.get(self.key)
        return view if view is not None and view.is_mounted else None

    async def fill(self, lab: "Lab", viewing: ViewOptions) -> None:
        """Create the tabs and the open view. Other views are created when the user opens them."""
        from textual.widgets import ContentSwitcher, Tab, Tabs

        self._lab, self._viewing = lab, viewing
        tabs = Tabs(*(Tab(action.tab, id=key) for key, action in VIEWS.items()), active=self.key)
        tabs.can_focus = False  # the keys [ and ] switch tabs, so the tab key moves the focus to the view
        await self.mount(tabs, ContentSwitcher())
        await self.open(self.key)

    async def open(self, key: str, *, into: bool = False) -> None:
        """Show a view. into: also focus the view."""
        from textual.widgets import ContentSwitcher, Tabs

        into, self.key = into or self.has_focus_within, key
        if not self.is_attached or not self.query(Tabs):
            return  # the page is closing and its tabs no longer exist
        self.query_one(Tabs).active = key
        switcher = self.query_one(ContentSwitcher)
        if key not in self._views:
            self._views[key] = view = resolve_name(VIEWS[key].view)(
                self._lab, self._viewing, id=f"view-{key}"
            )
            await switcher.add_content(view)
        switcher.current = f"view-{self.key}"  # the user may have opened another view meanwhile
        if (shown := self.view) is not None:
            if into:
                shown.take_focus()
            self.post_message(self.Opened(self.key, shown))

    async def on_tabs_tab_activated(self, event: "Tabs.TabActivated") -> None:
        """Open the view of a clicked tab. Textual finds this handler by its name; the decorator `on`
        would have to import Tabs at startup.
        """
        event.stop()
        # After two quick key presses, the event of the first press may arrive when the second press has
        # already been handled.
        if event.tab.id and event.tab.id != self.key and event.tab.id == event.tabs.active:
            await self.open(event.tab.id)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._move_tabs(event, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._move_tabs(event, -1)

    def _move_tabs(self, event: events.MouseEvent, by: int) -> None:
        for tabs in self.query("Tabs"):
            if tabs.region.contains_point(event.screen_offset):
                event.stop()
                tabs.query_one("#tabs-scroll").scroll_relative(x=by * TAB_STEP, animate=False, force=True)

    def beside(self, by: int) -> str:
        """Return the name of the view `by` tabs to the right (to the left if negative). After the last tab
        comes the first.
        """
        keys = list(VIEWS)
        return keys[(keys.index(self.key) + by) % len(keys)]
