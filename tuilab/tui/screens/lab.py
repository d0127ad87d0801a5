"""The main screen: header, presets, answer, picture, controls, placement, keys."""

import asyncio
import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from tuilab.lab.changes import Change
from tuilab.lab.offers import Offer
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.presentation import titles
from tuilab.presentation.view_options import ViewOptions
from tuilab.tui.actions import ACTIONS, by_line
from tuilab.tui.keys import keys_of, spoken
from tuilab.tui.messages import LabChanged
from tuilab.tui.panels.presets import Presets, PresetsPanel
from tuilab.tui.screens.small import HEIGHTS, WIDTHS, Small

if TYPE_CHECKING:
    from tuilab.catalogue import Catalogue
    from tuilab.lab import Lab
    from tuilab.model.parameters import Value
    from tuilab.model.preset import Preset
    from tuilab.model.workload import Declaration
    from tuilab.tui.options import Options
    from tuilab.tui.panels.controls import Controls
    from tuilab.tui.panels.header import Header
    from tuilab.tui.panels.views import Views
    from tuilab.tui.views.placement import PlacementLog
    from tuilab.tui.widgets.answer import AnswerPanel

LONGEST_SAID, LONGEST_TROUBLE = 600, 140
"""Characters of a message, and of one that tells of trouble: more would cover the screen."""
PAGES = {
    "answer": "tuilab.tui.screens.answer:AnswerScreen",
    "machines": "tuilab.tui.screens.machines:MachinesScreen",
    "why": "tuilab.tui.screens.why:WhyScreen",
}
"""What is loaded when it is first opened; each is given the lab."""
TYPED = "a document, a preset file, or code such as model.py:forward; → completes"
OPENS = """A document's text with what is wrong with its benchmarks, a preset, or your own function or Keras \
model. Type its path below, then enter."""
ADDS = """Another machine: the system's ssh starts its worker with your configuration, keys and agent; \
tuilab sees no password. `ssh HOST true` must work without a prompt, and tuilab must be installed there.

Another environment of this machine, with a TensorFlow from 2.16 on: NAME=PATH, or NAME=PATH,VARIABLE=VALUE. \
Nothing is installed or written there."""


class LabScreen(Screen[None]):
    """Begins with the presets, so that the first paint is quick; frames and what is in them come after it."""

    ALLOW_IN_MAXIMIZED_VIEW = "#foot"
    AUTO_FOCUS = ""  # the presets, after the first paint
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    # The widgets draw what the focus changes; Textual would draw the whole screen too.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(a.keys, a.name, a.label, show=bool(a.line), id=a.id) for a in by_line(ACTIONS)),
        Binding("escape", "back", "back", show=False, id="back"),
    ]
    HELP = """\
## The lab

The **presets** on the left are examples from documents. The **answer** is always at the top. Below it is the
picture: ten views of the same run. Then the **controls**, and where the ops ran.

Choose a preset; it is measured at once. Move a slider; it is measured again. **{sweep}** looks for the
size at which another device becomes the faster one. **{stop}** stops whatever is running.

## Words

- An **arm** is one way to do the same work: on a device, in a mode (eager, one graph, XLA), with its input
  *resident* (on the device already) or *copied* (brought there in each call).
- A **block** is a few calls that are timed together; a **round** is one block of each arm, by turns.
- The **95 % interval** `[339 346]` holds the true median in 95 of 100 such runs; **±** is half of it.
- The **crossover** is the size from which on another device is the faster one.
- The **canary** is a small fixed task in each round: where it takes longer, the machine is busy with else.
- **Dispatch** is the time in which Python and TensorFlow hand an op over; **roof** is what a device can do
  at most.
"""

    presets = getters.query_one(Presets)
    lab: "Lab"
    header: "Header"
    views: "Views"
    answer: "AnswerPanel"
    controls: "Controls"
    placement: "PlacementLog"

    def __init__(
        self,
        options: "Options",
        lab: "Callable[[LabScreen], Lab]",
        keymap: Mapping[str, str],
        read_keymap: Callable[[], Sequence[str]],
    ) -> None:
        """lab: makes the lab, after the first paint: to load it takes as long as to load all of Textual.

        keymap: the person's own keys, once `read_keymap` was called, which returns what is wrong with them.
        """
        super().__init__(id="lab")
        self.options, self.keymap = options, keymap
        self.viewing = ViewOptions()
        self._make_lab, self._read_keymap = lab, read_keymap
        self.filled = False
        self._ready = asyncio.Event()
        """The lab is there; until then only `run` and what is the app's can be done."""
        self._hasty = self._dragging = False
        self._mistyped = ""
        """What was to be opened and could not be, to be put right."""
        self._found: Catalogue | None = None

    def compose(self) -> ComposeResult:
        rows, self._found = titles.at_start(self.options.presets)
        # What comes later is mounted in these: to mount on the screen itself draws all of it once more.
        yield Container(id="head")
        with Horizontal(id="body"):
            yield PresetsPanel(rows)
        yield Container(id="foot")

    def on_mount(self) -> None:
        self.call_after_refresh(self._frame)

    async def _frame(self) -> None:
        """The rest of the screen, still empty: half as long to make as all that the first paint needs."""
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
        """What is in the frames. The worker comes first: it takes longest."""
        options, lab = self.options, self._make_lab(self)
        state = lab.state
        await lab.start()

        from tuilab.lab.files import first_visit
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
        self.answer, self.controls, self.placement = AnswerPanel(), Controls(state), PlacementLog()
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
        if wrong and ".py:" not in options.preset:
            self.warn(wrong)
        self._draw(LabChanged(~Change.NOTHING))
        self.run_worker(lab.show_pinned(), exit_on_error=False)
        # The plotting library is loaded while the worker still loads TensorFlow.
        self.run_worker(figure, thread=True, exit_on_error=False)
        if options.replay is not None:
            await self.play(str(options.replay))
        elif ".py:" in options.preset:
            self.open_soon(options.preset)
        elif options.demo:
            await self.action_demo()
        elif self._hasty:
            lab.begin()
        gc.freeze()
        gc.enable()
        self._ready.set()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dimmed until the screen is filled, but for what needs nothing of the lab."""
        if action == "replay" and parameters:
            return self.filled and self.lab.replaying is not None
        if action == "watched":
            return self.options.watching is not None
        return True if self.filled or action == "run" else None

    # Drawing, as the painter asks for it

    def draw(self, change: Change, painted: Callable[[], None] = lambda: None) -> None:
        """Draw that change; `painted` is called once it is on its way to the terminal."""
        self.post_message(LabChanged(change))
        self.call_after_refresh(painted)

    @on(LabChanged)
    def _draw(self, event: LabChanged) -> None:
        """Show what changed."""
        if not self.filled:
            return
        from tuilab.presentation.answer import answer, next_steps

        change, state = event.change, self.lab.state
        self.header.tell(state)
        if self.lab.replaying is None and (strip := self.query("#replay")):
            strip.remove()
            self.refresh_bindings()
        self.answer.say(answer(state, newcomer=self.viewing.newcomer))
        steps = spoken(self, f"next: {next_steps(state)}")
        if steps != self.views.border_subtitle and not self._dragging:  # to set it draws all of the panel
            self.views.border_subtitle = steps
        controls = self.query_one("#controls")
        if (cost := state.cost) != controls.border_subtitle and not self._dragging:
            controls.border_subtitle = cost
        if change & (Change.SETTINGS | Change.OVER | Change.LOOK) and not self._dragging:
            opened = state.settings.preset.name if state.settings else ""
            modified = state.settings is not None and not state.settings.original
            verdicts = {} if state.guessing else state.verdicts
            self.presets.show(opened, verdicts, modified, here=state.guessing)
        if change & (Change.SETTINGS | Change.WORKER | Change.FIGURES):
            self.call_later(self.controls.draw)
        if change & Change.FIGURES and self.placement.is_on_screen:
            self.placement.draw(state)
        view = self.views.view
        if view is not None and view.wants & change:
            view.draw()
        for text, level in state.hosts.tell():
            self.say(text, "error" if level == "error" else "information")

    def _list_presets(self) -> None:
        self.query_one(PresetsPanel).load(titles.titles(self.lab.state.presets, self.lab.state.problems))

    def entries(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        """What the command palette offers: (words, help, what to do) of each action, then of each preset."""
        for action in ACTIONS:
            words = f"{action.label}  ({keys_of(action, self.keymap)})"
            yield words, spoken(self, action.help), partial(self.run_action, action.name)
        for preset in self.lab.state.presets if self.filled else ():
            yield f"open {preset.name}", preset.title, partial(self.open_preset, preset.name)

    def warn(self, text: str) -> None:
        """A warning of the lab's own: in the corner, and in the log."""
        self.lab.say(text, "warning")
        self.say(text, "warning")

    def say(self, text: str, tone: str = "information") -> None:
        """A short message in the corner; one that tells of trouble stays longer, until the next key.

        Of trouble that takes many words the log has the rest.
        """
        from tuilab.model.sanitize import sanitize_block

        seconds = 4 if tone == "information" else 10
        words = sanitize_block(spoken(self, text), LONGEST_SAID)
        if tone != "information" and len(words) > LONGEST_TROUBLE:
            self.lab.say(words, "error" if tone == "error" else "warning")
            cut = words[:LONGEST_TROUBLE].rpartition(" ")[0]
            words = f"{cut} … " + spoken(self, "All of it is in the log ({view-log}).")
        self.notify(words, severity=tone, markup=False, timeout=seconds)  # type: ignore[arg-type]

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell a person what is wrong with what they gave, instead of raising it."""
        from tuilab.model.errors import InputError

        try:
            yield
        except InputError as error:
            self.say(str(error), "error")

    # Measure

    def action_run(self) -> None:
        """Measure the present settings."""
        if not self.filled:
            self._hasty = True
        elif self._spared("run"):
            pass
        elif not self.lab.begin():
            self.say("Choose a preset first: {presets}, arrows, {presets.open}.")

    def _spared(self, action: str) -> bool:
        """Say once, before a replay is replaced, that this action measures anew; whether it was said now."""
        spared = self.lab.spare_replay()
        if spared:
            self.say(f"This is a replay. {{{action}}} again measures its settings anew on this machine.")
        return spared

    def action_stop(self) -> None:
        """Stop what goes on."""
        if not self.lab.stop():
            self.say("Nothing is running.")

    async def action_sweep(self) -> None:
        """Measure over a range of sizes."""
        from tuilab.lab.settings import default_sweep

        if self.lab.state.settings is None:
            return
        sweep = default_sweep(self.lab.state.settings)
        if sweep is None:
            self.say("This workload has no size to sweep over.", "warning")
            return
        if self._spared("sweep"):
            return
        self.lab.begin(sweep=sweep)
        await self.views.open("sweep")

    def action_budget(self) -> None:
        """The next budget, round and round."""
        self.lab.next_budget()
        self.draw(Change.SETTINGS)

    def action_toggle_rerun(self) -> None:
        """Live sliders on or off."""
        self.lab.rerun = not self.lab.rerun
        self.say(
            "Live sliders on: each change is measured."
            if self.lab.rerun
            else "Live sliders off: {run} measures."
        )

    def action_undo(self) -> None:
        """Take the last change back."""
        if not self.lab.undo():
            self.say("Nothing to undo.")

    def action_redo(self) -> None:
        """Take the last undo back."""
        if not self.lab.redo():
            self.say("Nothing to redo.")

    def action_original(self) -> None:
        """Everything as the document has it."""
        self.lab.restore()

    # ViewOptions

    async def action_view(self, key: str) -> None:
        """Bring a view to the front."""
        await self.views.open(key)

    async def action_step_view(self, by: int) -> None:
        """The view to the left or to the right."""
        await self.views.step(by)

    def on_views_opened(self, event: "Views.Opened") -> None:
        """Draw it. By name: views come after the first paint."""
        event.view.draw()

    # Go

    def action_presets(self) -> None:
        """Give the keys to the presets; open or close the drawer on a narrow screen."""
        if self.has_class("-narrow"):
            self.toggle_class("-drawer")
            if not self.has_class("-drawer"):
                self.action_controls()
                return
        self.set_focus(self.presets)

    def action_maximize_panel(self) -> None:
        """Give the panel that has the keys the whole screen, or give it back."""
        if self.maximized is not None:
            self.minimize()
            return
        around = self.focused.ancestors_with_self if self.focused is not None else ()
        panels = (w for w in around if isinstance(w, Widget) and w.has_class("frame"))
        self.maximized = next(panels, self.views)

    def action_back(self) -> None:
        """Close the drawer."""
        if self.has_class("-drawer"):
            self.action_presets()

    def action_controls(self) -> None:
        """Give the keys to the first slider."""
        first = next((w for w in self.controls.query("*") if w.focusable), None)
        if first is not None:
            self.set_focus(first)

    @on(Presets.Chosen)
    def _chosen(self, event: Presets.Chosen) -> None:
        if self.filled:
            self.open_preset(event.preset)

    def open_preset(self, name: str) -> None:
        """Open a preset, and measure it where live sliders are on."""
        preset = next(p for p in self.lab.state.presets if p.name == name)
        self.lab.open(preset)
        views = self.views
        if (preset.sweep is None) == (views.key == "sweep"):
            # The picture that shows what the preset measures: a curve for a sweep, samples otherwise.
            self.call_later(views.open, "sweep" if preset.sweep else "live")
        if self.has_class("-drawer"):
            self.action_presets()

    async def open_with(self, name: str, values: "Mapping[str, Value]", *, measure: bool) -> None:
        """Open a preset with the sizes of a watched program, once the screen is filled."""
        await self._ready.wait()
        preset = next(p for p in self.lab.state.presets if p.name == name)
        self._beside(preset, values, measure)

    async def open_caught(self, folder: str, *, measure: bool) -> None:
        """Open a function that was caught in a watched program, once the screen is filled."""
        await self._ready.wait()

        def taken(preset: "Preset", own: "tuple[Declaration, str] | None") -> None:
            self.lab.add_preset(preset, own)
            self._list_presets()
            self._beside(preset, {}, measure)

        await self.open_path(folder, taken)

    def _beside(self, preset: "Preset", values: "Mapping[str, Value]", measure: bool) -> None:
        """Show a preset over a watched program, and measure it where that is wanted."""
        self.lab.present(preset, values)
        told = "{watched} goes back to your program."
        if measure:
            self.lab.begin()
        else:
            told = f"It still runs, and would share its processors: {{run}} measures all the same. {told}"
        self.say(told)

    def action_watched(self) -> None:
        """Back to the program that is watched."""
        self.app.pop_screen()

    def on_controls_changed(self, event: "Controls.Changed") -> None:
        """A slider or a switch moved. By name, because the controls are loaded after the first paint."""
        dropped, self._dragging = self._dragging and event.final, not event.final
        self.lab.set(event.settings, event.final)
        if dropped:
            self.draw(Change.SETTINGS)

    # Pages

    def action_page(self, name: str) -> None:
        """A page over the screen that shows the lab in its own way."""
        self.app.push_screen(resolve_name(PAGES[name])(self.lab))

    def action_arms(self) -> None:
        """Choose which arms and ghosts are drawn."""
        from tuilab.tui.screens.arms import ArmsScreen

        self.app.push_screen(ArmsScreen(self.lab, self.viewing))

    def action_keys(self) -> None:
        """Every key on one page."""
        from tuilab.tui.screens.help import KeysScreen

        self.app.push_screen(KeysScreen(self.keymap))

    def action_jump(self) -> None:
        """Letters on every place."""
        from tuilab.tui.screens.jump import JumpScreen

        async def go(place: Widget | None) -> None:
            if place is not None and place.focusable:
                place.focus()
            elif place is not None and place.id:
                await self.views.open(place.id)

        here = [widget for widget in self.focus_chain if widget.region and widget.region.y >= 0]
        self.app.push_screen(JumpScreen([*here, *self.views.query("Tab")]), go)

    def action_fact_check(self) -> None:
        """Measure every claim of the document that this preset is from, beside the lab."""
        from tuilab.lab import fact_check
        from tuilab.tui.screens.fact_check import FactCheckScreen

        state = self.lab.state
        source = state.settings.preset.source if state.settings else None
        if source is None:
            self.say(
                "This preset is of no document. {open} opens one; {document.fact-check} measures its claims."
            )
            return
        with self._told():
            check, presets = fact_check.bundled(source.document, state.presets)
            self.app.push_screen(FactCheckScreen(self.lab, check, presets))

    def action_hosts(self) -> None:
        """The other machines and environments to measure in, and a line to add one."""
        from tuilab.lab.files import preferences
        from tuilab.lab.hosts import about
        from tuilab.tui.screens.menu import MenuScreen

        known = self.lab.state.hosts.known
        items = [Offer(host.environment or host.name, host.name, about(host)) for host in known.values()]
        for word in preferences().environments:
            name, _, place = word.partition("=")
            items += [Offer(word, name, place)] if name not in known else []
        page = MenuScreen(
            "Measure elsewhere",
            items,
            typed="an ssh host, or NAME=~/venvs/mine for an environment",
            empty=ADDS,
        )
        self.app.push_screen(page, self.add_host)

    async def add_host(self, name: str | None) -> None:
        """Measure there too; what is wrong with its name is said."""
        with self._told():
            if name and "=" in name:
                name = await self.lab.add_environment(name)
                self.say(f"Starting {name}; it measures by turns with the others. The device slider chooses.")
            elif name:
                self.lab.add_host(name)
                self.say(f"Connecting to {name}; choose it with the device slider.")

    def action_copy(self) -> None:
        """The command line that does the same, to the clipboard and to a file."""
        from tuilab.lab.files import keep_command

        if self.lab.state.settings is None:
            return
        line = self.lab.state.command(sweeping=self.views.key == "sweep")
        self.app.copy_to_clipboard(line)
        kept = keep_command(line)
        self.say(f"{line}\n\nCopied" + (f"; also in {kept}." if kept else "."))

    def action_export(self) -> None:
        """Keep this view and run as a file."""
        from tuilab.lab.export import formats
        from tuilab.tui.screens.menu import MenuScreen

        def chosen(key: str | None) -> None:
            if key:
                # The page has closed, so that a picture shows the lab itself.
                self.call_after_refresh(lambda: self._write(key))

        there = formats(bool(self.lab.state.shown.run))
        self.app.push_screen(MenuScreen("Export to the current folder", there), chosen)

    def _write(self, key: str) -> None:
        folder = Path.cwd()
        picture = partial(self.app.export_screenshot, title="tuilab")
        try:
            self.say(f"Written: {self.lab.export_shown(key, folder, picture)}")
        except OSError as error:
            self.say(f"Nothing could be written to {folder}: {error.strerror}", "error")
        except ValueError as error:
            self.say(f"Nothing was exported: {error}", "error")

    def action_open(self) -> None:
        """Open a document, a preset file or code of one's own."""
        from tuilab.lab.files import preferences
        from tuilab.tui.screens.menu import MenuScreen, Paths

        recent = [Offer(path, path) for path in preferences().recent]
        self.app.push_screen(
            MenuScreen("Open", recent, typed=TYPED, empty=OPENS, suggester=Paths(), begun=self._mistyped),
            self.open_soon,
        )

    def open_soon(self, words: str | None) -> None:
        """Open what a path names, beside everything else: reading and asking the worker take their time."""
        self.run_worker(self.open_path(words), exit_on_error=False)

    async def open_path(self, words: str | None, taken: "Callable[..., None] | None" = None) -> None:
        """Open what a path names; what is wrong with it is said. taken: what is done with a preset."""
        from tuilab.lab import opening
        from tuilab.lab.files import remember_opened
        from tuilab.lab.questions import Unanswered
        from tuilab.model.errors import InputError
        from tuilab.tui.screens.document import DocumentScreen
        from tuilab.tui.screens.menu import MenuScreen

        if not words:
            return
        self._mistyped, kind = words, opening.kind(words)
        try:
            if kind == "recording":
                await self.play(words)
            elif kind == "document":
                report = await run_in_daemon_thread(opening.document, words)
                if offers := opening.offered(words, report):
                    page = MenuScreen(f"Functions of {Path(words).name}", offers)
                    self.app.push_screen(page, self.open_soon)
                else:
                    self.app.push_screen(DocumentScreen(report, self.lab), self._take)
            else:
                if kind == "code":
                    self.say(f"Asking {words} what it declares…")
                (taken or self._take)(*await opening.preset(self.lab, words))
            self._mistyped = ""
            remember_opened(words)
        except InputError as error:
            self.say(f"{error}. {{open}} brings back what you typed.", "error")
        except Unanswered as error:
            self.lab.say(error.detail or str(error), "error")
            more = " The log ({view-log}) has the details." if error.detail else ""
            self.say(f"{words}: {str(error).splitlines()[-1]}{more}", "error")

    def _take(self, preset: "Preset | None", own: "tuple[Declaration, str] | None" = None) -> None:
        """List one more preset, open it and measure it."""
        if preset is not None:
            self.lab.add_preset(preset, own)
            self._list_presets()
            self.open_preset(preset.name)

    def action_history(self) -> None:
        """Every run that was kept, to find, compare, tag, pin, delete, take along or replay."""
        from tuilab.lab.replay import RUN
        from tuilab.tui.screens.history import HistoryScreen

        async def chosen(run: str | None) -> None:
            if run:
                await self.play(RUN + run)

        self.app.push_screen(HistoryScreen(self.lab), chosen)

    async def action_replay(self, do: str = "", *by: int) -> None:
        """Show a recorded run as if it were live. do: what the player is to do instead, such as `pause`."""
        if do:
            self.lab.play(lambda replay: getattr(replay, do)(*by))
            return
        from tuilab.tui.screens.menu import MenuScreen

        found = await self.lab.recorded()
        page = MenuScreen(
            "Replay", found, typed="or the path of a recorded file, then enter",
            empty="No run has been kept yet. Type the path of a recorded file below.",
        )  # fmt: skip
        self.app.push_screen(page, self.play)

    async def play(self, name: str | None) -> None:
        """Replay a run of the history, or a file."""
        from tuilab.tui.panels.replay_strip import ReplayStrip

        if not name:
            return
        with self._told():
            await self.lab.replay(name)
            if not self.query(ReplayStrip):
                await self.query_one("#work", Vertical).mount(ReplayStrip(self.lab), after=self.views)
            self.query_one(ReplayStrip).focus()
            self.refresh_bindings()

    async def action_demo(self) -> None:
        """Guess whether a claim holds, then see."""
        from tuilab.presentation.demo import Demo, tour
        from tuilab.tui.panels.demo_bar import DemoBar

        if self.query(DemoBar):
            return
        steps = tour(self.lab.state.presets, self.lab.state.machine)
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
        self.add_class("-demo")
        await self.query_one("#work", Vertical).mount(bar, before=0)
        bar.focus()
        await self.views.open("live")
