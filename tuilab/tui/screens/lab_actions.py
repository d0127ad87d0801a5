"""What the keys of the main screen do."""

from typing import TYPE_CHECKING, cast

from tuilab.model.sanitize import sanitize_block
from tuilab.tui.panels.presets import Presets
from tuilab.tui.panels.views import Views

if TYPE_CHECKING:
    from tuilab.lab import Lab
    from tuilab.tui.panels.controls import Controls
    from tuilab.tui.screens.lab import LabScreen


LONGEST_SAID = 600
"""Characters of a message: more would cover the screen."""
READ = ("timeline", "placement", "device", "verdict", "log")


class LabActions:
    """The actions of `LabScreen`, and its answers to what its panels say."""

    lab: "Lab | None"
    hasty = False
    """A run was asked for before the screen was filled."""

    @property
    def _screen(self) -> "LabScreen":
        return cast("LabScreen", self)

    def say(self, text: str, tone: str = "information") -> None:
        """A short message in the corner; one that tells of trouble stays longer."""
        seconds = 4 if tone == "information" else 10
        words = sanitize_block(text, LONGEST_SAID)
        self._screen.notify(words, severity=tone, markup=False, timeout=seconds)  # type: ignore[arg-type]

    # Measure

    def action_run(self) -> None:
        """Measure the present settings."""
        if self.lab is None:
            self.hasty = True
        elif not self.lab.controller.run():
            self.say("Choose a preset first: p, arrows, enter.")

    def action_stop(self) -> None:
        """Stop what goes on."""
        if self.lab is not None and not self.lab.controller.stop():
            self.say("Nothing is running.")

    async def action_sweep(self) -> None:
        """Measure over a range of sizes."""
        from tuilab.lab.settings import default_sweep

        lab = self.lab
        if lab is None or lab.state.settings is None:
            return
        sweep = default_sweep(lab.state.settings)
        if sweep is None:
            self.say("This workload has no size to sweep over.", "warning")
            return
        lab.controller.run(sweep=sweep)
        await self._screen.query_one(Views).open("sweep")

    def action_budget(self) -> None:
        """The next budget, round and round."""
        from tuilab.model.scenario import BUDGET, BUDGETS

        if self.lab is not None:
            state = self.lab.state
            state.budget = BUDGETS[(BUDGETS.index(state.budget) + 1) % len(BUDGETS)]
            budget = BUDGET[state.budget]
            self.say(
                f"Budget {budget.name}: ± {budget.precision * 100:g} %, at most {budget.limit_s:g} s"
                + (f", in {budget.workers} fresh processes." if budget.workers > 1 else ".")
            )

    def action_toggle_rerun(self) -> None:
        """Live sliders on or off."""
        if self.lab is not None:
            control = self.lab.controller
            control.rerun = not control.rerun
            self.say("Live sliders: a rest measures." if control.rerun else "Live sliders off: r measures.")

    def action_undo(self) -> None:
        """Take the last change back."""
        if self.lab is not None:
            self._went(self.lab.state.undo(), "Nothing to undo.")

    def action_redo(self) -> None:
        """Take the last undo back."""
        if self.lab is not None:
            self._went(self.lab.state.redo(), "Nothing to redo.")

    def _went(self, changed: bool, otherwise: str) -> None:
        assert self.lab is not None
        if changed:
            self.lab.controller.moved()
        else:
            self.say(otherwise)

    def action_original(self) -> None:
        """Everything as the document has it."""
        from tuilab.lab.settings import Settings

        if self.lab is not None and (settings := self.lab.state.settings) is not None:
            self.lab.controller.set(Settings.of(settings.preset, settings.declaration, settings.file))

    # Look

    async def action_view(self, key: str) -> None:
        """Bring a view to the front."""
        if self.lab is not None:
            await self._screen.query_one(Views).open(key)

    async def action_step_view(self, by: int) -> None:
        """The view to the left or to the right."""
        if self.lab is not None:
            await self._screen.query_one(Views).step(by)

    def on_views_opened(self, event: Views.Opened) -> None:
        """Draw the view that came to the front; what is read rather than watched gets more room."""
        self._screen.set_class(event.key in READ, "-reading")
        if self.lab is not None:
            self._screen.drawing.open_view()

    # Go

    def action_presets(self) -> None:
        """Give the keys to the presets; open or close the drawer on a narrow screen."""
        screen = self._screen
        presets = screen.query_one(Presets)
        if screen.has_class("-narrow"):
            screen.toggle_class("-drawer")
            if not screen.has_class("-drawer"):
                self.action_controls()
                return
        screen.set_focus(presets)

    def action_back(self) -> None:
        """Close the drawer."""
        if self._screen.has_class("-drawer"):
            self.action_presets()

    def action_controls(self) -> None:
        """Give the keys to the first slider."""
        from tuilab.tui.panels.controls import Controls

        if self.lab is not None:
            first = next((w for w in self._screen.query_one(Controls).query("*") if w.focusable), None)
            if first is not None:
                self._screen.set_focus(first)

    def on_presets_chosen(self, event: Presets.Chosen) -> None:
        """A preset was picked."""
        self.open_preset(event.preset)

    def open_preset(self, name: str) -> None:
        """Open a preset, and measure it where live sliders are on."""
        lab = self.lab
        if lab is None:
            return
        preset = next(p for p in lab.state.presets if p.name == name)
        lab.state.choose(preset)
        lab.controller.moved(now=True)
        views = self._screen.query_one(Views)
        if (preset.sweep is None) == (views.key == "sweep"):
            # The picture that shows what the preset measures: a curve for a sweep, samples otherwise.
            self._screen.call_later(views.open, "sweep" if preset.sweep else "live")
        if self._screen.has_class("-drawer"):
            self.action_presets()

    def on_controls_changed(self, event: "Controls.Changed") -> None:
        """A slider or a switch moved."""
        if self.lab is not None:
            self.lab.controller.set(event.settings, event.final)

    # Lab

    def action_theme(self) -> None:
        """Light or dark."""
        from tuilab.tui.themes import DARK, LIGHT

        app = self._screen.app
        app.theme = LIGHT.name if app.theme == DARK.name else DARK.name

    async def action_leave(self) -> None:
        """End the worker and leave."""
        await self._screen.app.leave()
