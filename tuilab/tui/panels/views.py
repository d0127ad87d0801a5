"""The picture: one frame whose title is the row of tabs, and the view that is open in it."""

from collections.abc import Callable

from rich.cells import cell_len
from textual.containers import Container
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.style import Style
from textual.widget import Widget

from tuilab.tui.views.base import View
from tuilab.tui.widgets.wording import fit

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
}


class Views(Container):
    """The frame of the views. `Opened` when another tab is chosen."""

    HELP = """\
## Views

The same run, seen in nine ways. **[ ]** go left and right, **1** to **9** open one at once (while no slider
has the keys), a click on a tab does too.
"""

    class Opened(Message):
        """This view is in front now."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self) -> None:
        super().__init__(id="views", classes="frame")
        self.source: Callable[[str], type[View]] | None = None
        self._open = "live"
        self._views: dict[str, View] = {}
        self._loaded: set[str] = set()
        self._names: dict[str, str] = {}
        self._joint = ""

    @property
    def key(self) -> str:
        """Which view is open."""
        return self._open

    @property
    def view(self) -> View | None:
        """The open view, None until it is loaded."""
        return self._views[self._open] if self._open in self._loaded else None

    async def open(self, key: str) -> None:
        """Bring a view to the front, making it if it is new."""
        view = self._views.get(key)
        had_focus = self.has_focus_within
        self._open = key
        if view is None:
            if self.source is None:
                return
            view = self._views[key] = self.source(VIEWS[key][1])(id=f"view-{key}")
            for other in self._views.values():
                other.display = other is view
            await self.mount(view)
            self._loaded.add(key)
        for other in self._views.values():
            other.display = other is self._views.get(self._open)
        self.show_tabs()
        if key not in self._loaded or key != self._open:
            return  # Whoever mounts it, or opened another meanwhile, says so.
        if had_focus:
            view.take_focus()
        self.post_message(self.Opened(key))

    async def step(self, by: int) -> None:
        """The view to the left or the right, round and round."""
        keys = list(VIEWS)
        await self.open(keys[(keys.index(self._open) + by) % len(keys)])

    def show_tabs(self) -> None:
        """Write the tabs into the frame, as long as there is room for."""
        room = self.size.width
        if not room:
            return
        titles = {key: title for key, (title, _) in VIEWS.items()}
        names = " ".join(titles.values())
        joint = " │ " if cell_len(names) + 2 * len(titles) + 2 <= room else "│"
        if cell_len(names) + 1 > room and joint == "│":
            longest = max(4, (room - len(titles)) // len(titles))
            titles = {
                k: t if k == self._open else fit(t, min(len(t), longest), ellipsis="")
                for k, t in titles.items()
            }
        if getattr(self.app, "ascii_only", False):
            joint = joint.replace("│", "|")
        self._names, self._joint = titles, joint
        parts: list[Content] = []
        for key, title in titles.items():
            style = Style.from_meta({"@click": f"screen.view('{key}')"})
            name = "$accent bold" if key == self._open else "$primary"
            parts.append(Content.styled(title, name).stylize(style))
        self.border_title = Content.styled(joint, "$border-blurred").join(parts)

    def tab_offsets(self) -> dict[str, Offset]:
        """Where on the screen each tab's first letter stands."""
        at = self.region.offset + Offset(3, 0)
        out = {}
        for key, title in self._names.items():
            out[key] = at
            at += (cell_len(title) + len(self._joint), 0)
        return out

    def on_resize(self) -> None:
        self.show_tabs()

    def place(self) -> Widget | None:
        """What should have the keys when a person goes to the picture."""
        return self.view.place() if self.view else None
