"""The main screen: header, presets, answer, picture, controls, placement, keys."""

import gc
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer

from tuilab.lab import titles
from tuilab.tui.actions import ACTIONS, by_line
from tuilab.tui.panels.header import Header
from tuilab.tui.panels.presets import PresetsPanel
from tuilab.tui.panels.views import Views
from tuilab.tui.screens.lab_pages import LabPages
from tuilab.tui.screens.small import SIZES, Small, size_classes

if TYPE_CHECKING:
    from tuilab.catalogue import Catalogue
    from tuilab.tui.app import LabApp
    from tuilab.tui.drawing import Drawing


class LabScreen(LabPages, Screen[None]):
    """Composed of light frames, so that the first paint is quick; what is in them comes after it."""

    AUTO_FOCUS = "Presets"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(a.keys, a.name, a.label, show=bool(a.line), id=a.id) for a in by_line(ACTIONS)),
        Binding("escape", "back", "back", show=False, id="back"),
    ]

    if TYPE_CHECKING:
        app: LabApp
        drawing: Drawing

    HELP = """\
## The lab

**Presets** at the left are examples of documents. The **answer** stands at the top, always. Under it the
picture: nine views of the same run. Then the **controls**, and where the ops ran.

Choose a preset with enter; it is measured at once. Move a slider; it is measured again. **s** looks for the
size at which the faster device changes. **x** stops whatever goes on.
"""

    def __init__(self) -> None:
        super().__init__(id="lab")
        self.lab = None
        self._found: Catalogue | None = None

    def compose(self) -> ComposeResult:
        rows = titles.kept(self.app.options.presets)
        if not rows:
            # The first start, or a preset changed: what can be measured is on the first screen all the same.
            from tuilab import catalogue

            self._found = catalogue.load(*self.app.options.presets)
            rows = titles.titles(self._found.presets, self._found.problems)
        self._fit(*self.app.size)
        yield Header()
        with Horizontal(id="body"):
            yield PresetsPanel(rows)
            with Vertical(id="work"):
                yield frame("answer", "Answer")
                yield Views()
                yield frame("controls", "Controls")
                yield frame("below", "Placement")
        yield Footer(compact=True)
        yield Small()

    def on_mount(self) -> None:
        self.call_after_refresh(self._fill)

    async def _fill(self) -> None:
        """Everything that the first paint does not need."""
        from tuilab.tui.begin import begin

        await begin(self, self._found)
        gc.freeze()
        gc.enable()

    def on_resize(self, event: events.Resize) -> None:
        """Choose the layout for this size."""
        self._fit(event.size.width, event.size.height)
        self.query_one(Small).repaint()

    def _fit(self, width: int, height: int) -> None:
        wanted = size_classes(width, height)
        mine = self.classes & SIZES
        if mine != wanted:
            self.remove_class(*(mine - wanted))
            self.add_class(*wanted)
        self.set_class(self.app.ascii_only, "-ascii")


def frame(identity: str, title: str) -> Container:
    """An empty panel with its border and title."""
    panel = Container(id=identity, classes="frame")
    panel.border_title = title
    return panel
