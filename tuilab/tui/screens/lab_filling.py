"""Starts the main screen in three steps: presets, frames, contents of the frames.

The presets are painted first, and each later step imports what only it needs. In one step, the first paint
would take twice as long.
"""

import asyncio
import gc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical

from tuilab.lab.changes import Change
from tuilab.lab.files import first_visit
from tuilab.presentation import titles
from tuilab.presentation.view_options import ViewOptions
from tuilab.tui.panels.presets import PresetsPanel
from tuilab.tui.screens.lab_opening import Opening
from tuilab.tui.screens.small import Small

if TYPE_CHECKING:
    from tuilab.catalogue import Catalogue
    from tuilab.lab import Lab
    from tuilab.tui.options import Options


class Filling(Opening):
    """The main screen until it is filled."""

    def __init__(
        self,
        options: "Options",
        lab: "Callable[[Filling], Lab]",
        keymap: Mapping[str, str],
        read_keymap: Callable[[], Sequence[str]],
    ) -> None:
        """lab: creates the lab after the first paint, because loading it takes as long as loading all of
        Textual.

        keymap: the user's own keys, once `read_keymap` has been called, which returns their problems.
        """
        super().__init__(id="lab")
        self.options, self.keymap = options, keymap
        self.viewing = ViewOptions()
        self._make_lab, self._read_keymap = lab, read_keymap
        self._ready = asyncio.Event()
        """Set when the lab exists; until then only `run` and the app's own actions work."""
        self._found: Catalogue | None = None

    def compose(self) -> ComposeResult:
        rows, self._found = titles.at_start(self.options.presets)
        # Later widgets are mounted in these: mounting on the screen itself redraws all of it.
        yield Container(id="head")
        with Horizontal(id="body"):
            yield PresetsPanel(rows)
        yield Container(id="foot")

    def on_mount(self) -> None:
        self.call_after_refresh(self._frame)

    async def _frame(self) -> None:
        """Create the rest of the screen, still empty, which takes half as long as the first paint."""
        from tuilab.tui.panels.header import Header
        from tuilab.tui.panels.key_bar import KeyBar
        from tuilab.tui.panels.views import Views
        from tuilab.tui.screens.modal import framed

        self.app.stylesheet.read(Path(__file__).parents[1] / "filled.tcss")
        self.header, self.views, body = Header(), Views(), self.query_one("#body")
        names = {"answer": "Answer", "controls": "Controls", "below": "Placement"}
        answer, controls, below = (framed(Container(id=key), title) for key, title in names.items())
        with self.app.batch_update():
            await self.query_one("#head").mount(self.header)
            await self.query_one("#foot").mount(KeyBar(), Small())
            await body.mount(Vertical(answer, self.views, controls, below, id="work"))
        self.call_after_refresh(self._fill)

    async def _fill(self) -> None:
        """Fill the frames. The worker starts first, because it takes longest."""
        options, lab = self.options, self._make_lab(self)
        state = lab.state
        await lab.start()

        from tuilab.lab import devices
        from tuilab.tui.panels.controls import Controls
        from tuilab.tui.views.placement import PlacementLog
        from tuilab.tui.widgets.answer import AnswerPanel
        from tuilab.tui.widgets.plot import figure

        self.lab = lab
        lab.load_presets(*options.presets, found=self._found)
        if self._found is None:
            titles.keep(options.presets, titles.titles(state.presets, state.problems))
        wrong = lab.open_first(options.preset)
        self._list_presets()
        self.viewing.newcomer = options.newcomer if options.newcomer is not None else first_visit()
        self.answer, self.controls, self.placement = AnswerPanel(), Controls(state), PlacementLog(self.lab)
        with self.app.batch_update():
            self.set_focus(self.presets)
            await self.query_one("#answer", Container).mount(self.answer)
            await self.query_one("#controls", Container).mount(self.controls)
            await self.query_one("#below", Container).mount(self.placement)
            await self.views.fill(lab, self.viewing)
            await self.controls.draw()
        notices = lab.keep_runs(finish=options.hangup == "finish")
        self.filled = True
        self.refresh_bindings()
        for problem in [*notices, *self._read_keymap()]:
            self.warn(problem)
        own = False
        if wrong:
            from tuilab.lab.naming import resolve
            from tuilab.model.errors import InputError
            from tuilab.model.subject import NamedPreset, PresetFile

            try:
                own = not isinstance(resolve(options.preset), NamedPreset | PresetFile)
            except InputError:  # opening it says what is wrong
                own = True
            if not own:
                self.warn(wrong)
        self.show(~Change.NOTHING)
        self.run_worker(lab.show_pinned(), exit_on_error=False)
        self.look_at_devices()
        self.set_interval(devices.EVERY_S, self.look_at_devices_at_rest)
        # Load the plotting library while the worker is still loading TensorFlow.
        self.run_worker(figure, thread=True, exit_on_error=False)
        if options.replay is not None:
            await self.play(str(options.replay))
        elif own:
            self.open_soon(options.preset)
        elif options.demo:
            await self.action_demo()
        elif self._hasty:
            lab.begin()
        gc.freeze()
        gc.enable()
        self._ready.set()
