"""Measures, sweeps, and changes settings from the main screen."""

from tuilab.lab.settings import default_sweep
from tuilab.presentation.status import under_way
from tuilab.tui.parts.context import Context
from tuilab.tui.parts.navigation import Navigation
from tuilab.tui.parts.opening import Opener


class Measuring:
    """Passes the user's requests to the lab. Shows a message if the lab cannot carry out a request."""

    def __init__(self, context: Context, navigation: Navigation, opener: Opener) -> None:
        self._lab, self._corner, self._presets = context.lab, context.corner, context.panel.presets
        self._navigation, self._opener = navigation, opener

    def run(self) -> None:
        if reading := self._opener.reading:
            self._opener.run_requested = True
            self._corner.progress(f"{reading} is still loading; it will be measured when loaded.")
        elif self._lab.playback.to_the_end():
            self._corner.say(
                "This run was stopped; all its rounds are shown. Press {run} again to continue it."
            )
        elif self._lab.state.further() is None and self._spared("run"):
            pass
        elif said := under_way(self._lab.state):
            self._corner.say(said)
        elif self._lab.begin():
            self._say_which("measured")
            self._navigation.close_drawer()
        else:
            self._corner.say("Choose a preset first: {presets}, arrows, {presets.open}.")

    async def sweep(self) -> None:
        if reading := self._opener.reading:
            self._opener.sweep_requested = self.sweep
            self._corner.progress(f"{reading} is still loading; it will be swept when loaded.")
            return
        settings = self._lab.state.settings
        if settings is None:
            return
        sweep = default_sweep(settings)
        if sweep is None:
            self._corner.say("This workload has no size parameter to sweep over.", "warning")
            return
        if self._spared("sweep"):
            return
        self._say_which("swept")
        self._lab.begin(sweep=sweep)
        await self._navigation.look("sweep")

    def stop(self) -> None:
        if not self._lab.stop():
            self._corner.say("Nothing is running.")

    def undo(self) -> None:
        if not self._lab.undo():
            self._corner.say("Nothing to undo.")

    def redo(self) -> None:
        if not self._lab.redo():
            self._corner.say("Nothing to redo.")

    def toggle_live(self) -> None:
        self._lab.rerun = not self._lab.rerun
        on = "Live sliders on: each change is measured."
        self._corner.say(on if self._lab.rerun else "Live sliders off: {run} measures.")

    def _spared(self, action: str) -> bool:
        """Warn once before a measurement replaces a replay. Returns True if this call has warned."""
        spared = self._lab.playback.spare()
        if spared:
            state = self._lab.state
            what = "the same settings" if state.replay_is_here or not state.settings else state.settings.title
            self._corner.say(f"This is a replay. Press {{{action}}} again to measure {what} on this machine.")
        return spared

    def _say_which(self, done: str) -> None:
        """Tell the user which preset is measured, if the cursor is on another preset."""
        marked, settings = self._presets.marked, self._lab.state.settings
        if marked and settings is not None:
            text = f"{{presets.open}} opens the selected one: {marked}."
            self._corner.say(f"The open preset is being {done}: {settings.title}. {text}")
