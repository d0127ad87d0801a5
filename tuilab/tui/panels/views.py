"""The panel with a row of tabs, and the open view below them."""

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
"""Number of cells by which one step of the mouse wheel moves the tabs."""


class Views(Vertical):
    """The tabs and the views. Posts `Opened` when another view is shown."""

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
        """The open view; None until it is created."""
        view = self._views.get(self.key)
        return view if view is not None and view.is_mounted else None

    async def fill(self, lab: "Lab", viewing: ViewOptions) -> None:
        """Create the tabs and the open view. The other views are created when they are first opened."""
        from textual.widgets import ContentSwitcher, Tab, Tabs

        self._lab, self._viewing = lab, viewing
        tabs = Tabs(*(Tab(action.tab, id=key) for key, action in VIEWS.items()), active=self.key)
        tabs.can_focus = False  # the keys [ and ] switch tabs, so the tab key goes to the view itself
        await self.mount(tabs, ContentSwitcher())
        await self.open(self.key)

    async def open(self, key: str, *, into: bool = False) -> None:
        """Show a view, creating it if needed. into: also focus the view."""
        from textual.widgets import ContentSwitcher, Tabs

        into, self.key = into or self.has_focus_within, key
        if not self.is_attached or not self.query(Tabs):
            return  # the page is closing, and its tabs no longer exist
        self.query_one(Tabs).active = key
        switcher = self.query_one(ContentSwitcher)
        if key not in self._views:
            self._views[key] = view = resolve_name(VIEWS[key].view)(
                self._lab, self._viewing, id=f"view-{key}"
            )
            await switcher.add_content(view)
        switcher.current = f"view-{self.key}"  # the user may have opened another view in the meantime
        if (shown := self.view) is not None:
            if into:
                shown.take_focus()
            self.post_message(self.Opened(self.key, shown))

    async def on_tabs_tab_activated(self, event: "Tabs.TabActivated") -> None:
        """Open the view of a clicked tab. Connected by name, because tabs are loaded on demand."""
        event.stop()
        # Of two quick key presses, the first press's event arrives after the second press was handled.
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
        """Return the name of the view `by` tabs to the right (left if negative), wrapping around."""
        keys = list(VIEWS)
        return keys[(keys.index(self.key) + by) % len(keys)]
