"""Shows changes of the lab on the panels of the main screen."""

from rich.cells import cell_len
from textual.worker import WorkType

from tuilab.lab.changes import Change
from tuilab.lab.state import LabState
from tuilab.presentation.answer import answer, next_steps
from tuilab.tui.keys import spoken
from tuilab.tui.panels.header import Header
from tuilab.tui.parts.context import Context
from tuilab.tui.screens.modal import retitle
from tuilab.tui.views.placement import PlacementLog
from tuilab.tui.widgets.answer import AnswerPanel


class Drawing:
    dragging = False
    """True while the user drags a slider. During a drag, the border texts are not updated."""

    def __init__(
        self, context: Context, header: Header, answer: AnswerPanel, placement: PlacementLog
    ) -> None:
        self._screen, self._lab, self._corner = context.screen, context.lab, context.corner
        self._panel, self._views, self._controls = context.panel, context.views, context.controls
        self._viewing = context.viewing
        self._header, self._answer, self.placement = header, answer, placement

    def show(self, change: Change) -> None:
        state = self._lab.state
        self._header.tell(state)
        if self._lab.playback.replay is None and (strip := self._screen.query("#replay")):
            strip.remove()
            self._screen.refresh_bindings()
        self._answer.show(answer(state, newcomer=self._viewing.newcomer))
        self._show_borders(state)
        if change & (Change.SETTINGS | Change.OVER | Change.LOOK) and not self.dragging:
            opened = state.settings.preset.name if state.settings else ""
            modified = state.settings is not None and not state.settings.original
            verdicts = {} if state.guessing else state.verdicts
            self._panel.presets.show(opened, verdicts, modified, here=state.guessing, emulated=state.emulated)
        if change & Change.WORKER:
            title = state.machine.mark_title("Presets") if state.machine is not None else "Presets"
            retitle(self._panel, title=title)
        if change & (Change.SETTINGS | Change.WORKER | Change.FIGURES):
            self._screen.call_later(self._controls.draw)
        if change & Change.FIGURES and self.placement.is_on_screen:
            self.placement.draw()
        view = self._views.view
        if view is not None and view.wants & change:
            view.draw()
        if change & Change.REPORT:
            self.look_at_devices()
        for text, level in state.hosts.tell():
            self._corner.say(text, "error" if level == "error" else "information")

    def _show_borders(self, state: LabState) -> None:
        if self.dragging:  # changing a border's text redraws the whole panel
            return
        steps = f"next: {', '.join(wanted := [spoken(self._screen, step) for step in next_steps(state)])}"
        if cell_len(steps) > (self._views.size.width or self._screen.app.size.width):
            steps = f"next: {wanted[0]}"
        retitle(self._views, subtitle=steps)
        chosen = state.settings.title if state.settings is not None else ""
        title = "Controls" + (f" of {chosen}" if chosen != state.title else "")
        retitle(self._screen.query_one("#controls"), title=title, subtitle=state.cost)

    def look_at_devices(self) -> None:
        # Pass the function, so that `run_worker` creates the coroutine. If the lab is exiting, a coroutine
        # created here would never be awaited.
        sample: WorkType[None] = self._sample_devices
        self._screen.run_worker(sample, exit_on_error=False)

    def look_at_devices_at_rest(self) -> None:
        """Sample the devices unless a run is active. During a run, the run's own reports trigger the samples,
        which disturbs the run less.
        """
        if not self._lab.state.asked:
            self.look_at_devices()

    async def _sample_devices(self) -> None:
        await self._lab.devices.look(self._lab.state.worker.pid)
        if self._views.key == "device" and (view := self._views.view) is not None:
            view.draw()
