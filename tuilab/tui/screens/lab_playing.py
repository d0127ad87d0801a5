"""Replayed runs and the demo, each with its own bar on the main screen."""

from textual.containers import Vertical

from tuilab.tui.screens.lab_base import LabBase


class Playing(LabBase):
    """The part of the main screen that replays runs and shows the demo."""

    async def action_replay(self, do: str = "", *by: int) -> None:
        """Replay a recorded run as if it were live. do: a command for the player instead, such as `pause`."""
        if do:
            self.lab.play(lambda replay: getattr(replay, do)(*by))
            return
        from tuilab.tui.screens.menu import MenuScreen

        found = await self.lab.recorded()
        page = MenuScreen(
            "Replay", found, typed="or the path of a recorded file, then enter",
            empty="No run has been saved yet. Type the path of a recorded file below.",
        )  # fmt: skip
        self.app.push_screen(page, self.play)

    async def action_background(self) -> None:
        """Show the run that continues in the background, up to its current state."""
        await self.play(next(iter(self.lab.state.background.values()), None))

    async def play(self, name: str | None) -> None:
        """Replay a run of the history, or a file."""
        from tuilab.tui.panels.replay_strip import ReplayStrip

        if not name:
            return
        with self._told():
            await self.lab.replay(name)
            if not self.query(ReplayStrip):
                await self.query_one("#work", Vertical).mount(ReplayStrip(self.lab), after=self.views)
            self.query(ReplayStrip).focus()  # may have been closed meanwhile
            self.refresh_bindings()

    async def action_demo(self) -> None:
        """Guess whether a claim holds, then see."""
        from tuilab.presentation.demo import Demo, tour
        from tuilab.tui.panels.demo_bar import DemoBar

        if self.query(DemoBar):
            return
        steps = tour(self.lab.state.presets, self.lab.state.machine, self.lab.state.verdicts)
        if not steps:
            self.say("No preset here has a claim to measure.", "warning")
            return

        async def done() -> None:
            self.remove_class("-demo")
            await self.query(DemoBar).remove()
            if self.has_class("-narrow"):
                self.action_controls()
            else:
                self.action_presets()

        bar = DemoBar(self.lab, Demo(steps), lambda: self.call_later(done))
        self.close_drawer()
        self.add_class("-demo")
        await self.query_one("#work", Vertical).mount(bar, before=0)
        await self.views.open("live")
        bar.focus()
