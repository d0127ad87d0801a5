"""Base of the main screen's parts: the lab, the widgets, notifications."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import getters, on, work
from textual.screen import Screen

from tuilab.lab.changes import Change
from tuilab.presentation.view_options import ViewOptions
from tuilab.tui.keys import spoken
from tuilab.tui.messages import LabChanged
from tuilab.tui.panels.presets import Presets

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from tuilab.lab import Lab
    from tuilab.tui.panels.controls import Controls
    from tuilab.tui.panels.header import Header
    from tuilab.tui.panels.views import Views
    from tuilab.tui.views.placement import PlacementLog
    from tuilab.tui.widgets.answer import AnswerPanel

LONGEST_SAID, LONGEST_TROUBLE = 600, 140
"""Characters of a message, and of a warning: more would cover the screen."""


class LabBase(Screen[None]):
    """The lab, once created, its widgets, once filled, and how they are drawn."""

    presets = getters.query_one(Presets)
    lab: "Lab"
    header: "Header"
    views: "Views"
    answer: "AnswerPanel"
    controls: "Controls"
    placement: "PlacementLog"
    viewing: ViewOptions
    filled = False
    """The lab and the widgets exist."""
    _dragging = False
    """A slider is being dragged: its panel's text is not updated until the end."""

    def warn(self, text: str) -> None:
        """Show a warning of the lab in the corner, and log it."""
        self.lab.log(text, "warning")
        self.say(text, "warning")

    def say(self, text: str, tone: "SeverityLevel" = "information") -> None:
        """Show a short message in the corner. A warning stays longer, until the next key.

        The log has the rest of a long warning.
        """
        from tuilab.model.sanitize import sanitize_block

        seconds = 4 if tone == "information" else 10
        words = sanitize_block(spoken(self, text), LONGEST_SAID)
        if tone != "information" and len(words) > LONGEST_TROUBLE:
            self.lab.log(words, "error" if tone == "error" else "warning")
            cut = words[:LONGEST_TROUBLE].rpartition(" ")[0]
            words = f"{cut} … " + spoken(self, "All of it is in the log ({view-log}).")
        self.notify(words, severity=tone, markup=False, timeout=seconds)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Show invalid input to the user as a message instead of raising it."""
        from tuilab.model.errors import InputError

        try:
            yield
        except InputError as error:
            self.say(str(error), "error")

    def draw(self, change: Change, painted: Callable[[], None] = lambda: None) -> None:
        """Draw the change. `painted` is called once it is on its way to the terminal."""
        self.post_message(LabChanged(change))
        self.call_after_refresh(painted)

    @on(LabChanged)
    def _draw(self, event: LabChanged) -> None:
        self.show(event.change)

    def show(self, change: Change) -> None:
        """Show the change."""
        if not self.filled:
            return
        from tuilab.presentation.answer import answer, next_steps

        state = self.lab.state
        self.header.tell(state)
        if self.lab.replaying is None and (strip := self.query("#replay")):
            strip.remove()
            self.refresh_bindings()
        self.answer.show(answer(state, newcomer=self.viewing.newcomer))
        steps = f"next: {', '.join(wanted := [spoken(self, step) for step in next_steps(state)])}"
        if cell_len(steps) > (self.views.size.width or self.app.size.width):
            steps = f"next: {wanted[0]}"
        if steps != self.views.border_subtitle and not self._dragging:  # setting it redraws the whole panel
            self.views.border_subtitle = steps
        controls = self.query_one("#controls")
        if (cost := state.cost) != controls.border_subtitle and not self._dragging:
            controls.border_subtitle = cost
        if change & (Change.SETTINGS | Change.OVER | Change.LOOK) and not self._dragging:
            opened = state.settings.preset.name if state.settings else ""
            modified = state.settings is not None and not state.settings.original
            verdicts = {} if state.guessing else state.verdicts
            self.presets.show(opened, verdicts, modified, here=state.guessing, emulated=state.emulated)
        if change & Change.WORKER:
            title = state.machine.mark_title("Presets") if state.machine is not None else "Presets"
            self.query_one("#presets").border_title = title
        if change & (Change.SETTINGS | Change.WORKER | Change.FIGURES):
            self.call_later(self.controls.draw)
        if change & Change.FIGURES and self.placement.is_on_screen:
            self.placement.draw()
        view = self.views.view
        if view is not None and view.wants & change:
            view.draw()
        if change & Change.REPORT:
            self.look_at_devices()
        for text, level in state.hosts.tell():
            self.say(text, "error" if level == "error" else "information")

    # `@work` creates the coroutine; one created here would never be awaited if the lab is just exiting.
    @work(exit_on_error=False)
    async def look_at_devices(self) -> None:
        """Sample this machine's devices, and draw the result if it is visible."""
        await self.lab.devices.look(self.lab.state.worker.pid)
        if self.views.key == "device" and (view := self.views.view) is not None:
            view.draw()

    def look_at_devices_at_rest(self) -> None:
        """Sample the devices unless a run is in progress; its reports trigger sampling, to avoid disturbing
        it.
        """
        if not self.lab.state.asked:
            self.look_at_devices()

    def action_presets(self) -> None:
        """Focus the presets; on a narrow screen, open or close the drawer."""
        if self.has_class("-narrow") and self.has_class("-drawer"):
            self.close_drawer()
            return
        self.presets.reveal()
        self.set_focus(self.presets)

    def close_drawer(self) -> None:
        """Close the drawer that covers a narrow screen, because something below it was requested.

        A hidden list must not keep the focus.
        """
        if self.has_class("-drawer") or (self.has_class("-narrow") and self.presets.has_focus):
            self.remove_class("-drawer")
            self.action_controls()

    def action_controls(self) -> None:
        """Focus the first slider."""
        first = next((w for w in self.controls.query("*") if w.focusable), None)
        if first is not None:
            self.set_focus(first)
