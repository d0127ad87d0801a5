"""The page on which the user chooses the arms and ghosts to draw."""

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widgets import SelectionList
from textual.widgets.selection_list import Selection

from tuilab.lab.changes import Change
from tuilab.model.quantity import median_of, plural
from tuilab.presentation.view_options import ViewOptions
from tuilab.tui.screens.modal import Page, framed
from tuilab.tui.views.base import marks

if TYPE_CHECKING:
    from tuilab.lab import Lab

GHOSTS = "ghosts"


class Arms(SelectionList[str]):
    HELP = """\
## Which arms are drawn

**{arms.turn}** shows or hides an arm, **{arms.all}** shows all arms, **{arms.only}** shows only the arm under
the cursor. The last row is for ghosts: earlier runs, drawn faintly under this run. Hidden arms are still
measured.
"""
    BUTTON_LEFT, BUTTON_INNER, BUTTON_RIGHT = "[", "x", "]"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "select", "show or hide", show=False, id="arms.turn"),
        Binding("o", "only", "draw only this arm", show=False, id="arms.only"),
        Binding("a", "all", "draw all", show=False, id="arms.all"),
    ]

    def action_only(self) -> None:
        if self.highlighted is not None:
            chosen = self.get_option_at_index(self.highlighted).value
            if chosen != GHOSTS:
                self.select(chosen)
                for other in set(self.selected) - {chosen, GHOSTS}:
                    self.deselect(other)

    def action_all(self) -> None:
        self.select_all()


class ArmsScreen(Page[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "close", "close", id="arms.close")]
    DEFAULT_CSS = """
    ArmsScreen > .frame { width: 64; }
    ArmsScreen SelectionList { height: auto; max-height: 30; background: transparent; }
    ArmsScreen SelectionList:focus { background-tint: transparent; }
    """

    def __init__(self, lab: "Lab", viewing: ViewOptions) -> None:
        super().__init__()
        self._lab, self._viewing = lab, viewing

    def compose(self) -> ComposeResult:
        state, result = self._lab.state, self._lab.state.result()
        medians = {arm.id: arm.median_s for arm in result.arms} if result else {}
        looks, rows, drawn = marks(state.shown), [], self._viewing.drawn_arms(state.shown)
        for key, arm in state.shown.arms.items():
            median = medians.get(key)
            figure = median_of(median) if median is not None else arm.status or ""
            prompt = Content.assemble(f"{looks[key].marker} {arm.label}  ", (figure, "$foreground-muted"))
            rows.append(Selection(prompt, key, key in drawn))
        if ghosts := len(state.ghosts.under(state.shown)):
            prompt = Content(f"  ghosts of {plural(ghosts, 'earlier run')}")
            rows.append(Selection(prompt, GHOSTS, self._viewing.ghosts))
        if not rows:
            rows.append(Selection(Content("There is no run yet, so there are no arms."), "", disabled=True))
        with framed(
            Container(),
            "Draw",
            "{arms.turn} on or off, {arms.only} only this, {arms.all} all, {page.close} closes",
        ):
            yield Arms(*rows, compact=True)

    @on(SelectionList.SelectedChanged)
    def _changed(self, event: SelectionList.SelectedChanged[str]) -> None:
        chosen, state, viewing = set(event.selection_list.selected), self._lab.state, self._viewing
        viewing.ghosts = GHOSTS in chosen or not state.ghosts.under(state.shown)
        arms = set(state.shown.arms)
        if arms & chosen:
            viewing.draw(state.shown, chosen)
        elif arms:  # a run that has just started has no arms yet
            # at least one arm must be drawn
            event.selection_list.select(next(iter(viewing.drawn_arms(state.shown) or arms)))
        self._lab.changed(Change.LOOK)
