"""Which arms and ghosts are drawn."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import SelectionList
from textual.widgets.selection_list import Selection

from tuilab.lab.changes import Change
from tuilab.model.quantity import median_of
from tuilab.tui.screens.modal import Page, framed
from tuilab.tui.views.common import marks

if TYPE_CHECKING:
    from tuilab.lab import Lab

GHOSTS = "ghosts"


class Arms(SelectionList[str]):
    """A row an arm, and one for the ghosts."""

    HELP = """\
## Which arms are drawn

**space** shows or hides an arm, **a** shows all, **o** only the one under the cursor. The last row is for
ghosts: earlier runs, drawn faintly under this one. Hidden arms are still measured.
"""
    BUTTON_LEFT, BUTTON_INNER, BUTTON_RIGHT = "[", "x", "]"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "only", "draw only this one", show=False, id="arms.only"),
        Binding("a", "all", "draw all", show=False, id="arms.all"),
    ]

    def action_only(self) -> None:
        """Draw only the arm under the cursor."""
        if self.highlighted is not None:
            value = self.get_option_at_index(self.highlighted).value
            if value != GHOSTS:
                with self.prevent(SelectionList.SelectedChanged):
                    for arm in [v for v in self.selected if v not in (value, GHOSTS)]:
                        self.deselect(arm)
                self.select(value)
                self.post_message(self.SelectedChanged(self))

    def action_all(self) -> None:
        """Draw every arm."""
        self.select_all()


class ArmsScreen(Page[None]):
    """The list in a frame; escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q,a", "close", "close", id="arms.close")]
    DEFAULT_CSS = """
    ArmsScreen > .frame { width: 64; }
    ArmsScreen SelectionList { height: auto; max-height: 30; background: transparent; }
    ArmsScreen SelectionList:focus { background-tint: transparent; }
    """

    def __init__(self, lab: "Lab") -> None:
        super().__init__()
        self._lab, self._state = lab, lab.state

    def compose(self) -> ComposeResult:
        state = self._state
        rows = [Selection(prompt, key, key not in state.hidden) for key, prompt in self._prompts().items()]
        if ghosts := len(state.ghosts_of(state.shown)):
            words = f"ghosts of {ghosts} earlier run{'' if ghosts == 1 else 's'}"
            rows.append(Selection(Content("  " + words), GHOSTS, state.ghosts_on))
        with framed(Container(), "Draw", "space: show or hide, o: only this, a: all, esc: close"):
            if not rows:
                rows = [Selection(Content("No run yet, so there are no arms."), "", disabled=True)]
            yield Arms(*rows, compact=True)

    def _prompts(self) -> Mapping[str, Content]:
        state, result = self._state, self._state.result()
        looks = marks(state.shown)
        medians = {arm.id: arm.median_s for arm in result.arms} if result else {}
        out = {}
        for key, arm in state.shown.arms.items():
            median = medians.get(key)
            figure = median_of(median) if median is not None else arm.status or ""
            label = f"{looks[key].marker} {arm.label}  "
            out[key] = Content.assemble(label, (figure, "$text-muted"))
        return out

    def on_mount(self) -> None:
        self.query_one(Arms).focus()

    @on(SelectionList.SelectedChanged)
    def _changed(self, event: SelectionList.SelectedChanged[str]) -> None:
        chosen, state = set(event.selection_list.selected), self._state
        state.ghosts_on = GHOSTS in chosen or not state.ghosts_of(state.shown)
        hidden = set(state.shown.arms) - chosen
        if len(hidden) < len(state.shown.arms):
            state.hidden = hidden
        else:
            # One arm at least is drawn.
            event.selection_list.select(next(iter(state.drawn), next(iter(state.shown.arms))))
        self._lab.changed(Change.LOOK)
