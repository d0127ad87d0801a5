"""Starts and controls replays and the demo."""

from collections.abc import Callable, Iterator
from functools import partial

from textual.containers import Vertical

from tuilab.tui.parts.context import Context
from tuilab.tui.parts.navigation import Navigation

Entry = tuple[str, str, Callable[[], object], str]


class Player:
    def __init__(self, context: Context, navigation: Navigation) -> None:
        self._screen, self._lab, self._corner = context.screen, context.lab, context.corner
        self._views, self._navigation = context.views, navigation

    def entries(self) -> Iterator[Entry]:
        for run, file in self._lab.state.background.items():
            words = f"open the background run {run[:8]}"
            yield words, "Show the progress of this run.", partial(self.play, file), "unattended ssh hangup"

    def command(self, do: str, *by: int) -> None:
        self._lab.playback.command(lambda replay: getattr(replay, do)(*by))

    async def choose(self) -> None:
        from tuilab.tui.screens.menu import MenuScreen

        page = MenuScreen(
            "Replay", await self._lab.saved.offers(), typed="or the path of a recording, then press enter",
            empty="No run has been saved yet. Type the path of a recorded file below.",
        )  # fmt: skip
        self._screen.app.push_screen(page, self.play)

    async def background(self) -> None:
        """Replay a run that continues in the background, as far as the run has been measured."""
        await self.play(next(iter(self._lab.state.background.values()), None))

    async def play(self, name: str | None) -> None:
        from tuilab.tui.panels.replay_strip import ReplayStrip

        if not name:
            return
        with self._corner.refusals():
            await self._lab.replay(name)
            if not self._screen.query(ReplayStrip):
                await self._work.mount(ReplayStrip(self._lab), after=self._views)
            self._screen.query(ReplayStrip).focus()  # the screen may have been closed meanwhile
            self._screen.refresh_bindings()

    async def demo(self) -> None:
        """Start the demo. For each preset, the user guesses whether a claim holds, and then sees the
        result.
        """
        from tuilab.presentation.demo import Demo, tour
        from tuilab.tui.panels.demo_bar import DemoBar

        screen, state = self._screen, self._lab.state
        if screen.query(DemoBar):
            return
        steps = tour(state.presets.all, state.machine, state.verdicts)
        if not steps:
            self._corner.say("No preset on this machine has a claim to measure.", "warning")
            return

        async def done() -> None:
            screen.remove_class("-demo")
            await screen.query(DemoBar).remove()
            if screen.has_class("-narrow"):
                self._navigation.to_controls()
            else:
                self._navigation.to_presets()

        bar = DemoBar(self._lab, Demo(steps), lambda: screen.call_later(done))
        self._navigation.close_drawer()
        screen.add_class("-demo")
        await self._work.mount(bar, before=0)
        await self._views.open("live")
        bar.focus()

    @property
    def _work(self) -> Vertical:
        return self._screen.query_one("#work", Vertical)
