"""The main screen: header, presets, answer, view, controls, placement, keys.

The screen is built in three steps: the presets, the frames, the contents of the frames. Each later step
imports the modules that only this step needs, because building everything in one step would double the time
until the first paint.
"""

import asyncio
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.events import Key
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from tuilab.lab.changes import Change
from tuilab.lab.files import first_visit
from tuilab.presentation import titles
from tuilab.presentation.view_options import ViewOptions
from tuilab.tui.actions import ACTIONS, USERS_WORDS, by_line
from tuilab.tui.keys import keys_of, spoken, unbound
from tuilab.tui.messages import LabChanged
from tuilab.tui.panels.presets import Presets, PresetsPanel
from tuilab.tui.screens.small import HEIGHTS, WIDTHS, Small

if TYPE_CHECKING:
    from tuilab.catalogue import Catalogue
    from tuilab.lab import Lab
    from tuilab.tui.options import Options
    from tuilab.tui.panels.controls import Controls
    from tuilab.tui.panels.header import Header
    from tuilab.tui.panels.views import Views
    from tuilab.tui.parts.corner import Corner
    from tuilab.tui.parts.drawing import Drawing
    from tuilab.tui.parts.measuring import Measuring
    from tuilab.tui.parts.navigation import Navigation
    from tuilab.tui.parts.opening import Opener
    from tuilab.tui.parts.pages import Pages
    from tuilab.tui.parts.playing import Player

Draw = Callable[[Change, Callable[[], None]], None]
"""Draws a change, and calls its second argument once the change has been sent to the terminal."""
MakeLab = Callable[[Callable[[str], None], Draw], "Lab"]
"""Creates the lab from two functions: the first shows a warning, the second draws a change. Called after the
first paint, because importing the lab takes as long as importing Textual.
"""
NOTHING_YET = {
    "watched": "No program has been watched yet; {open} opens one.",
    "replay": "No replay is open; {replay} opens one.",
}
"""Why a key does nothing, by the first part of the action's id."""


class LabScreen(Screen[None]):
    ALLOW_IN_MAXIMIZED_VIEW = "#foot"
    AUTO_FOCUS = ""  # focusing the presets imports modules, so this happens after the first paint
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    # The widgets redraw themselves after a change of focus, so the screen need not be redrawn.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(a.keys, a.name, a.label, show=bool(a.line), id=a.id) for a in by_line(ACTIONS)),
        Binding("slash", "filter", "filter", show=False, id="table.filter"),
        Binding("escape", "back", "back", show=False, id="back"),
    ]
    HELP = """\
## The lab

The **presets** on the left are examples from documents. The **answer** is always at the top. Below it are
views of the same run, then the **controls**, and where the ops ran.

The lab measures a preset as soon as you open it, and again when you move a slider. **{sweep}** finds the size
at which another device becomes faster. **{stop}** stops whatever is running.
"""

    presets = getters.query_one(Presets)
    lab: "Lab"
    corner: "Corner"
    header: "Header"
    views: "Views"
    controls: "Controls"
    drawing: "Drawing"
    navigation: "Navigation"
    player: "Player"
    opener: "Opener"
    measuring: "Measuring"
    pages: "Pages"
    filled = False
    """True when the lab, the widgets and the parts exist. Until then, only `run`, `open`, `filter` and the
    app's own actions work.
    """
    _run_requested = False
    """True if the user requested a run before the screen was filled."""

    def __init__(
        self,
        options: "Options",
        make_lab: MakeLab,
        keymap: Mapping[str, str],
        read_keymap: Callable[[], Sequence[str]],
    ) -> None:
        """keymap: the user's own keys, filled by `read_keymap`. read_keymap: returns the problems with the
        keymap file.
        """
        super().__init__(id="lab")
        self.options, self.keymap = options, keymap
        self.viewing = ViewOptions()
        self._make_lab, self._read_keymap = make_lab, read_keymap
        self._started = asyncio.Event()
        self._found: Catalogue | None = None

    # Start

    def compose(self) -> ComposeResult:
        rows, self._found = titles.at_start(self.options.presets)
        # Widgets created later are mounted in these containers, because mounting on the screen itself redraws
        # the whole screen.
        yield Container(id="head")
        with Horizontal(id="body"):
            yield PresetsPanel(rows)
        yield Container(id="foot")

    def on_mount(self) -> None:
        self.call_after_refresh(self._frame)

    async def _frame(self) -> None:
        """Create the empty frames."""
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
        """Fill the frames. The worker starts first, because it takes longest to start."""
        from tuilab.tui.parts.corner import Corner

        options, corner = self.options, Corner(self)
        self.corner = corner
        lab = self._make_lab(corner.warn, self.draw)
        corner.log, state = lab.log, lab.state
        await lab.start()

        from tuilab.lab import devices
        from tuilab.tui.panels.controls import Controls
        from tuilab.tui.parts.context import Context
        from tuilab.tui.parts.drawing import Drawing
        from tuilab.tui.parts.measuring import Measuring
        from tuilab.tui.parts.navigation import Navigation
        from tuilab.tui.parts.opening import Opener
        from tuilab.tui.parts.pages import Pages
        from tuilab.tui.parts.playing import Player
        from tuilab.tui.views.placement import PlacementLog
        from tuilab.tui.widgets.answer import AnswerPanel
        from tuilab.tui.widgets.plot import figure

        self.lab = lab
        lab.load_presets(*options.presets, found=self._found)
        if self._found is None:
            titles.keep(options.presets, titles.titles(state.presets.all, state.presets.problems))
        wrong = lab.open_first(options.preset)
        self.viewing.newcomer = options.newcomer if options.newcomer is not None else first_visit()
        answer, self.controls, placement = AnswerPanel(), Controls(state), PlacementLog(lab)
        panel = self.query_one(PresetsPanel)
        context = Context(self, lab, corner, panel, self.views, self.controls, self.viewing)
        self.drawing = Drawing(context, self.header, answer, placement)
        self.navigation = Navigation(context)
        self.player = Player(context, self.navigation)
        watch = self.app.watch_program  # type: ignore[attr-defined]
        self.opener = Opener(context, self.navigation, self.player, watch)
        self.measuring = Measuring(context, self.navigation, self.opener)
        self.pages = Pages(context, self.player, self.keymap)
        self.opener.list_presets()
        with self.app.batch_update():
            if self.focused is None:
                self.set_focus(self.presets)
            await self.query_one("#answer", Container).mount(answer)
            await self.query_one("#controls", Container).mount(self.controls)
            await self.query_one("#below", Container).mount(placement)
            await self.views.fill(lab, self.viewing)
            await self.controls.draw()
            self.drawing.show(~Change.NOTHING)
        notices = lab.saved.keep(finish=options.hangup == "finish")
        self.drawing.show(Change.LOOK)  # show the saved verdicts, which `keep` has read
        self.filled = True
        self.refresh_bindings()
        for problem in [*notices, *self._read_keymap()]:
            corner.warn(problem)
        own = bool(wrong) and self.opener.is_own(options.preset)
        if wrong and not own:
            corner.warn(wrong)
        self.run_worker(lab.show_pinned(), exit_on_error=False)
        self.drawing.look_at_devices()
        self.set_interval(devices.EVERY_S, self.drawing.look_at_devices_at_rest)
        # load the plotting library while the worker loads TensorFlow
        self.run_worker(figure, thread=True, exit_on_error=False)
        if options.replay is not None:
            await self.player.play(str(options.replay))
        elif own:
            self.opener.run_requested = self._run_requested
            self.opener.open_soon(options.preset)
        elif options.demo:
            await self.player.demo()
        elif self._run_requested:
            lab.begin()
        gc.freeze()
        gc.enable()
        self._started.set()

    async def started(self) -> "Opener":
        """Wait until the lab exists. Returns the part of the screen that opens presets and files."""
        await self._started.wait()
        return self.opener

    # Reactions to changes

    def draw(self, change: Change, painted: Callable[[], None] = lambda: None) -> None:
        """Draw a change. painted: called once the change has been sent to the terminal."""
        self.post_message(LabChanged(change))
        self.call_after_refresh(painted)

    @on(LabChanged)
    def _changed(self, event: LabChanged) -> None:
        if self.filled:
            self.drawing.show(event.change)

    @on(Presets.Chosen)
    def _chosen(self, event: Presets.Chosen) -> None:
        if self.filled and (preset := self.lab.state.presets.find(event.name)) is not None:
            self.opener.open_preset(preset)

    def on_views_opened(self, event: "Views.Opened") -> None:
        """Draw the opened view. Textual finds this handler by its name; the decorator `on` would have to
        import the views before the first paint.
        """
        event.view.draw()

    def on_controls_changed(self, event: "Controls.Changed") -> None:
        """Apply a change of a slider or switch. Textual finds this handler by its name; the decorator
        `on` would have to import the controls before the first paint.
        """
        dropped, self.drawing.dragging = self.drawing.dragging and event.final, not event.final
        self.lab.set(event.settings, event.final)
        if dropped:
            self.draw(Change.SETTINGS)

    # Actions

    def on_key(self, event: Key) -> None:
        """Tell the user why a key does nothing. Says nothing while the lab starts."""
        if self.filled and (words := NOTHING_YET.get(unbound(self, event.key).partition("-")[0])):
            self.corner.say(words)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Until the screen is filled, dim the actions that need the lab."""
        if action == "replay" and parameters:
            return self.filled and self.lab.playback.replay is not None
        if action == "watched":
            return self.app.watching is not None  # type: ignore[attr-defined]
        return True if self.filled or action in ("run", "open", "filter") else None

    def entries(self) -> Iterator[tuple[str, str, Callable[[], object], str]]:
        """Yield the entries of the command palette as (name, help, command, further search words). Presets
        come last.
        """
        for action in ACTIONS:
            words = f"{action.label}  ({keys_of(action, self.keymap)})"
            do = partial(self.run_action, action.name)
            yield words, spoken(self, action.help), do, USERS_WORDS.get(action.id, "")
        if self.filled:
            for part in (self.player, self.pages, self.controls, self.opener):
                yield from part.entries()

    def action_run(self) -> None:
        if self.filled:
            self.measuring.run()
        else:
            self._run_requested = True

    def action_stop(self) -> None:
        self.measuring.stop()

    async def action_sweep(self) -> None:
        await self.measuring.sweep()

    def action_budget(self) -> None:
        self.lab.next_budget()
        self.draw(Change.SETTINGS)

    def action_toggle_rerun(self) -> None:
        self.measuring.toggle_live()

    def action_undo(self) -> None:
        self.measuring.undo()

    def action_redo(self) -> None:
        self.measuring.redo()

    def action_original(self) -> None:
        self.lab.restore()

    async def action_view(self, key: str) -> None:
        """Show a view. If this view is already open and a slider has the focus, focus the view."""
        await self.navigation.look(key, into=key == self.views.key and self.controls.has_focus_within)

    async def action_step_view(self, by: int) -> None:
        await self.navigation.look(self.views.beside(by))

    async def action_filter(self) -> None:
        if self.filled:
            await self.navigation.filter()
        else:
            await self.query_one(PresetsPanel).action_filter()

    def action_maximize_panel(self) -> None:
        self.navigation.maximize()

    def action_presets(self) -> None:
        self.navigation.to_presets()

    def action_controls(self) -> None:
        self.navigation.to_controls()

    def action_back(self) -> None:
        self.navigation.close_drawer()

    def action_jump(self) -> None:
        self.navigation.jump()

    def action_open(self) -> None:
        if self.filled:
            self.opener.ask()
        else:
            self.app.action_ask_path()  # type: ignore[attr-defined]

    async def action_replay(self, do: str = "", *by: int) -> None:
        """Let the user choose a recorded run to replay. do: a command, such as `pause`, to apply to the
        current replay instead.
        """
        if do:
            self.player.command(do, *by)
        else:
            await self.player.choose()

    async def action_background(self) -> None:
        await self.player.background()

    async def action_demo(self) -> None:
        await self.player.demo()

    def action_watched(self) -> None:
        self.app.show_program()  # type: ignore[attr-defined]

    def action_page(self, name: str) -> None:
        self.pages.open(name)

    def action_arms(self) -> None:
        self.pages.arms()

    def action_keys(self) -> None:
        self.pages.keys()

    def action_fact_check(self) -> None:
        self.pages.fact_check()

    def action_hosts(self) -> None:
        self.pages.hosts()

    def action_history(self) -> None:
        self.pages.history()

    def action_copy(self) -> None:
        self.pages.copy()

    def action_export(self) -> None:
        self.pages.export()
