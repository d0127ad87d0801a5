"""Which arms and ghosts are drawn."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from tuilab.lab.state import LabState
from tuilab.model.quantity import seconds
from tuilab.tui.panels.switches import ASCII_BOXES, BOXES
from tuilab.tui.screens.modal import Modal
from tuilab.tui.views.common import marks
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, TEXT, Line, TextStyle
from tuilab.tui.widgets.wording import fit

GHOSTS = "ghosts"


class Choices(LineWidget, can_focus=True):
    """A row an arm, and one for the ghosts."""

    HELP = """\
## Which arms are drawn

**space** draws an arm or leaves it out, **a** draws all, **o** draws only the one under the cursor. The last
row is for ghosts: earlier runs, drawn faintly under this one. What is left out is measured all the same.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False, id="arms.up"),
        Binding("down,j", "move(1)", "down", show=False, id="arms.down"),
        Binding("space,enter", "flip", "draw or leave out", show=False, id="arms.flip"),
        Binding("o", "only", "draw only this one", show=False, id="arms.only"),
        Binding("a", "all", "draw all", show=False, id="arms.all"),
    ]

    def __init__(self, session: LabState) -> None:
        super().__init__(empty="There is no run yet, so there are no arms.")
        self._session = session
        self._cursor = 0

    @property
    def _keys(self) -> list[str]:
        arms = list(self._session.shown.arms)
        return [*arms, GHOSTS] if self._session.ghosts_of(self._session.shown) else arms

    def paint(self, width: int, height: int) -> Sequence[Line]:
        keys = self._keys
        if not keys:
            return self.empty_lines(width, height)
        top = max(0, self._cursor - height + 1)
        return [self._line(i, key, width) for i, key in enumerate(keys)][top : top + height]

    def _line(self, index: int, key: str, width: int) -> Line:
        session = self._session
        boxes = ASCII_BOXES if self.glyphs.ascii else BOXES
        drawn = session.ghosts_on if key == GHOSTS else key not in session.hidden
        box = boxes[0] if drawn else boxes[1]
        here = index == self._cursor
        if key == GHOSTS:
            number = len(session.ghosts_of(session.shown))
            text = f"  ghosts of {number} earlier run{'' if number == 1 else 's'}"
            mark = (" ", TEXT)
        else:
            known = session.shown.arms[key]
            result = session.result()
            arm = next((a for a in result.arms if a.id == key), None) if result else None
            figure = seconds(arm.median_s) if arm and arm.median_s is not None else (known.status or "")
            text = f" {known.label}  {figure}"
            look = marks(session.shown)[key]
            mark = (f" {self.glyphs.marker(look.marker)}", look.style)
        style = TextStyle("accent" if here else "text" if drawn else "muted", bold=here)
        head = self.glyphs.focus if here else " "
        return (
            (head, ACCENT),
            (f" {box}", style),
            mark,
            (fit(text, width - 7, ellipsis=self.glyphs.ellipsis), style),
        )

    def action_move(self, by: int) -> None:
        """Up or down."""
        self._cursor = min(len(self._keys) - 1, max(0, self._cursor + by))
        self.repaint()

    def action_flip(self) -> None:
        """Draw it, or leave it out; one arm at least is drawn."""
        if not self._keys:
            return
        key, session = self._keys[self._cursor], self._session
        if key == GHOSTS:
            session.ghosts_on = not session.ghosts_on
        elif key in session.hidden:
            session.hidden.discard(key)
        elif len(session.drawn) > 1:
            session.hidden.add(key)
        self.repaint()

    def action_only(self) -> None:
        """Draw only the arm under the cursor."""
        key = self._keys[self._cursor] if self._keys else GHOSTS
        if key != GHOSTS:
            self._session.hidden = set(self._session.shown.arms) - {key}
            self.repaint()

    def action_all(self) -> None:
        """Draw every arm."""
        self._session.hidden.clear()
        self.repaint()

    def on_click(self, event: events.Click) -> None:
        """Turn over what was clicked on."""
        if event.y < len(self._keys):
            self._cursor = event.y
            self.action_flip()


class ArmsScreen(Modal[None]):
    """The list in a frame; escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "close", id="arms.close")]
    CSS = """
    ArmsScreen { align: center middle; background: $background 60%; }
    ArmsScreen Container { width: 60; max-width: 96%; max-height: 90%; }
    """

    def __init__(self, session: LabState) -> None:
        super().__init__()
        self._choices = Choices(session)
        self._rows = max(3, len(self._choices._keys))

    def compose(self) -> ComposeResult:
        with Container(classes="frame") as box:
            box.border_title = "Draw"
            box.border_subtitle = "space: draw or not, o: only this, a: all, esc: close"
            box.styles.height = self._rows + 2
            yield self._choices

    def on_mount(self) -> None:
        self.set_class(getattr(self.app, "ascii_only", False), "-ascii")
        self._choices.focus()
