"""The picture: a row of tabs, and the view that is open under it."""

from typing import TYPE_CHECKING, cast

from textual.containers import Vertical
from textual.geometry import Offset
from textual.message import Message

from tuilab.tui.messages import load_class
from tuilab.tui.views.base import View

if TYPE_CHECKING:
    from textual.widgets import Tabs

    from tuilab.lab import Lab

# key → title, the class that draws it (module:name, loaded when first opened).
VIEWS: dict[str, tuple[str, str]] = {
    "live": ("Live", "tuilab.tui.views.live:Live"),
    "compare": ("Compare", "tuilab.tui.views.compare:Compare"),
    "sweep": ("Sweep", "tuilab.tui.views.sweep:SweepView"),
    "phases": ("Phases", "tuilab.tui.views.phases:PhasesView"),
    "timeline": ("Timeline", "tuilab.tui.views.timeline:TimelineView"),
    "placement": ("Placement", "tuilab.tui.views.placement:PlacementView"),
    "device": ("Device", "tuilab.tui.views.device:DeviceView"),
    "verdict": ("Verdict", "tuilab.tui.views.verdict:VerdictView"),
    "log": ("Log", "tuilab.tui.views.log:LogView"),
    "roofline": ("Roofline", "tuilab.tui.views.roofline:RooflineView"),
}


class Views(Vertical):
    """The tabs and the views. `Opened` when another view is in front."""

    HELP = """\
## Views

Ten views of the same run. **[ ]** go left and right; **1** to **9** and **0** open them in the order of the
tabs, as does a click on a tab.
"""

    class Opened(Message):
        """This view is in front now."""

        def __init__(self, key: str, view: View) -> None:
            super().__init__()
            self.key, self.view = key, view

    def __init__(self) -> None:
        super().__init__(id="views", classes="frame")
        self._lab: Lab | None = None
        self._open = "live"
        self._views: dict[str, View] = {}
        self._loaded: set[str] = set()

    @property
    def key(self) -> str:
        """Which view is open."""
        return self._open

    @property
    def view(self) -> View | None:
        """The open view, None until it is loaded."""
        return self._views[self._open] if self._open in self._loaded else None

    async def fill(self, lab: "Lab") -> None:
        """Make the views of that lab, each when it is first opened; the open one now."""
        from textual.widgets import Tab, Tabs

        self._lab = lab
        tabs = Tabs(*(Tab(title, id=key) for key, (title, _) in VIEWS.items()), active=self._open)
        tabs.can_focus = False  # its keys are [ and ], so that the picture is the next stop
        await self.mount(tabs)
        await self.open(self._open)

    async def open(self, key: str) -> None:
        """Bring a view to the front, making it if it is new."""
        view = self._views.get(key)
        had_focus = self.has_focus_within
        self._open = key
        if self._lab is None:
            return
        for tabs in self.query("Tabs"):
            cast("Tabs", tabs).active = key
        if view is None:
            view = self._views[key] = load_class(VIEWS[key][1])(self._lab, id=f"view-{key}")
            for other in self._views.values():
                other.display = other is view
            await self.mount(view)
            self._loaded.add(key)
        for other in self._views.values():
            other.display = other is self._views.get(self._open)
        if key not in self._loaded or key != self._open:
            return  # Whoever mounts it, or opened another meanwhile, says so.
        if had_focus:
            view.take_focus()
        self.post_message(self.Opened(key, view))

    async def on_tabs_tab_activated(self, event: "Tabs.TabActivated") -> None:
        """Open the view of a tab that was clicked. By name, because tabs are loaded when they are needed."""
        event.stop()
        # Of two keys in one breath the first one's event arrives after the second has been obeyed.
        if event.tab.id and event.tab.id != self._open and event.tab.id == event.tabs.active:
            await self.open(event.tab.id)

    async def step(self, by: int) -> None:
        """The view to the left or the right, round and round."""
        keys = list(VIEWS)
        await self.open(keys[(keys.index(self._open) + by) % len(keys)])

    def tab_offsets(self) -> dict[str, Offset]:
        """Where on the screen each tab's first letter stands."""
        return {tab.id or "": tab.region.offset + Offset(1, 0) for tab in self.query("Tab")}
