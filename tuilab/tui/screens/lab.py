"""The main screen: header, presets, answer, picture, controls, placement, keys."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.reactive import Reactive
from textual.widget import Widget

from tuilab.lab.changes import Change
from tuilab.lab.files import keep_command, preferences
from tuilab.lab.offers import Offer
from tuilab.tui.actions import ACTIONS, USERS_WORDS, by_line
from tuilab.tui.keys import keys_of, spoken
from tuilab.tui.panels.presets import Presets, PresetsPanel
from tuilab.tui.screens.lab_filling import Filling
from tuilab.tui.screens.small import HEIGHTS, WIDTHS

if TYPE_CHECKING:
    from tuilab.lab.settings import Own
    from tuilab.model.parameters import Value
    from tuilab.model.preset import Preset
    from tuilab.tui.panels.controls import Controls
    from tuilab.tui.panels.views import Views

PAGES = {
    "answer": "tuilab.tui.screens.answer:AnswerScreen",
    "machines": "tuilab.tui.screens.machines:MachinesScreen",
    "why": "tuilab.tui.screens.why:WhyScreen",
}
"""Loaded when first opened; each receives the lab."""
ADDS = """Another machine: the system's ssh starts its worker with your configuration, keys and agent; \
tuilab sees no password. `ssh HOST true` must work without a prompt, and tuilab must be installed there.

Another environment of this machine, with a TensorFlow from 2.16 on: NAME=PATH, or NAME=PATH,VARIABLE=VALUE. \
Nothing is installed or written there."""


class LabScreen(Filling):
    """What the user can see and do, once the screen is filled."""

    ALLOW_IN_MAXIMIZED_VIEW = "#foot"
    AUTO_FOCUS = ""  # the presets, after the first paint
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    # The widgets draw a focus change themselves; Textual would redraw the whole screen too.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(a.keys, a.name, a.label, show=bool(a.line), id=a.id) for a in by_line(ACTIONS)),
        Binding("slash", "filter", "filter", show=False, id="table.filter"),
        Binding("escape", "back", "back", show=False, id="back"),
    ]
    HELP = """\
## The lab

The **presets** on the left are examples from documents. The **answer** is always at the top. Below it is the
picture: ten views of the same run. Then the **controls**, and where the ops ran.

Choose a preset; it is measured at once. Move a slider; it is measured again. **{sweep}** looks for the
size at which another device becomes the faster one. **{stop}** stops whatever is running.
"""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim what needs the lab until the screen is filled."""
        if action == "replay" and parameters:
            return self.filled and self.lab.replaying is not None
        if action == "watched":
            return self.app.watching is not None  # type: ignore[attr-defined]
        return True if self.filled or action == "run" else None

    def entries(self) -> Iterator[tuple[str, str, Callable[[], object], str]]:
        """Yield the command palette's entries: (words, help, what to do, further search words).

        Actions, exports, findings of the run, sliders and switches, then presets.
        """
        for action in ACTIONS:
            words = f"{action.label}  ({keys_of(action, self.keymap)})"
            do = partial(self.run_action, action.name)
            yield words, spoken(self, action.help), do, USERS_WORDS.get(action.id, "")
        if not self.filled:
            return
        for run, file in self.lab.state.background.items():
            words = f"open the background run {run[:8]}"
            yield words, "Show its progress so far.", partial(self.play, file), "unattended ssh hangup"
        yield from self._exports()
        yield from self._findings()
        yield from self.controls.entries()
        for preset in self.lab.state.presets:
            about = f"{preset.summary} {preset.advice} {' '.join((*preset.arms.dtypes, *preset.arms.modes))}"
            yield f"open {preset.name}", preset.title, partial(self.open_preset, preset.name), about

    def _exports(self) -> Iterator[tuple[str, str, Callable[[], object], str]]:
        from tuilab.lab.export import formats

        for offer in formats(bool(self.lab.state.shown.run)):
            do = partial(self.call_after_refresh, partial(self._write, offer.key))
            yield f"export {offer.label}", offer.detail, do, "save write file share screenshot report"

    def _findings(self) -> Iterator[tuple[str, str, Callable[[], object], str]]:
        """Yield the findings of the run and the doctor."""
        result, report = self.lab.state.result(), self.lab.diagnosis
        for found in result.diagnosis if result is not None else ():
            do = partial(self.run_action, "page('answer')")
            yield f"finding: {found.code.replace('-', ' ')}", found.message, do, "why slow bottleneck advice"
        if report is not None and not report.gpu_visible:
            do = partial(self.run_action, "page('why')")
            yield "doctor: no GPU is visible", report.cause, do, "why slow cuda driver cause fix"

    # Measure

    def action_run(self) -> None:
        """Measure the current settings."""
        from tuilab.presentation.status import under_way

        if not self.filled:
            self._hasty = True
        elif self.reading:
            self._hasty = True
            self.say(f"{self.reading} is still being read; it is measured then.")
        elif self._spared("run"):
            pass
        elif said := under_way(self.lab.state):
            self.say(said)
        elif self.lab.begin():
            self._say_which("measured")
            self.close_drawer()
        else:
            self.say("Choose a preset first: {presets}, arrows, {presets.open}.")

    def _spared(self, action: str) -> bool:
        """Warn once, before a replay is replaced, that this action measures again; return whether it warned
        now.
        """
        spared = self.lab.spare_replay()
        if spared:
            state = self.lab.state
            what = "the same settings" if state.replay_is_here or not state.settings else state.settings.title
            self.say(f"This is a replay. {{{action}}} again measures {what} on this machine.")
        return spared

    def _say_which(self, done: str) -> None:
        """Say which preset this is about while the cursor is on another one."""
        marked, settings = self.query_one(Presets).marked, self.lab.state.settings
        if marked and settings is not None:
            text = f"{{presets.open}} opens the marked one: {marked}."
            self.say(f"The open preset is {done}: {settings.title}. {text}")

    def action_stop(self) -> None:
        """Stop the current activity."""
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
        self._say_which("swept")
        self.lab.begin(sweep=sweep)
        await self._look("sweep")

    def action_budget(self) -> None:
        """Choose the next budget, wrapping around."""
        self.lab.next_budget()
        self.draw(Change.SETTINGS)

    def action_toggle_rerun(self) -> None:
        """Turn live sliders on or off."""
        self.lab.rerun = not self.lab.rerun
        self.say(
            "Live sliders on: each change is measured."
            if self.lab.rerun
            else "Live sliders off: {run} measures."
        )

    def action_undo(self) -> None:
        """Undo the last change."""
        if not self.lab.undo():
            self.say("Nothing to undo.")

    def action_redo(self) -> None:
        """Redo the last undone change."""
        if not self.lab.redo():
            self.say("Nothing to redo.")

    def action_original(self) -> None:
        """Restore the document's settings."""
        self.lab.restore()

    # Views

    async def action_view(self, key: str) -> None:
        """Show a view; if it is already shown and a slider has the focus, focus the view."""
        await self._look(key, into=key == self.views.key and self.controls.has_focus_within)

    async def action_step_view(self, by: int) -> None:
        """Open the view to the left or right."""
        await self._look(self.views.beside(by))

    async def _look(self, key: str, *, into: bool = False) -> None:
        """Show a view; focus it if the presets had the focus, because the user wants to look at it."""
        into = into or self.query_one(PresetsPanel).has_focus_within
        self.close_drawer()
        await self.views.open(key, into=into)

    async def action_filter(self) -> None:
        """Focus the filter of the current view, if it has one, else that of the presets."""
        view = self.views.view
        lines = view.query("Filter") if view is not None else ()
        if lines:
            self.set_focus(lines.first())
        else:
            await self.query_one(PresetsPanel).action_filter()

    def on_views_opened(self, event: "Views.Opened") -> None:
        """Draw the view. Bound by name, because views are loaded after the first paint."""
        event.view.draw()

    # Go

    def action_maximize_panel(self) -> None:
        """Maximize the focused panel, or restore it."""
        if self.maximized is not None:
            self.minimize()
            return
        around = self.focused.ancestors_with_self if self.focused is not None else ()
        panels = (w for w in around if isinstance(w, Widget) and w.has_class("frame"))
        self.maximized = next(panels, self.views)

    def action_back(self) -> None:
        """Close the drawer."""
        self.close_drawer()

    @on(Presets.Chosen)
    def _chosen(self, event: Presets.Chosen) -> None:
        if self.filled:
            self.open_preset(event.preset)

    async def open_with(self, name: str, values: "Mapping[str, Value]", *, measure: bool) -> None:
        """Open a preset with the sizes of a watched program, once the screen is filled."""
        await self._ready.wait()
        preset = next((p for p in self.lab.state.presets if p.name == name), None)
        if preset is None:
            self.say(f"The preset {name} is not among those that were read.", "warning")
        else:
            self._beside(preset, values, measure)

    async def open_caught(self, folder: str, *, measure: bool) -> None:
        """Open a function captured in a watched program, once the screen is filled."""
        await self._ready.wait()

        def taken(preset: "Preset", own: "Own | None") -> None:
            self.lab.add_preset(preset, own)
            self._list_presets()
            self._beside(preset, {}, measure)

        await self.open_path(folder, taken)

    def _beside(self, preset: "Preset", values: "Mapping[str, Value]", measure: bool) -> None:
        """Show a preset over a watched program, and measure it if requested."""
        self.lab.present(preset, values)
        text = "{watched} goes back to your program."
        if measure:
            self.lab.begin()
        else:
            text = f"It is still running and uses the processors; {{run}} measures anyway. {text}"
        self.say(text)

    def action_watched(self) -> None:
        """Go back to the watched program."""
        self.app.show_program()  # type: ignore[attr-defined]

    def on_controls_changed(self, event: "Controls.Changed") -> None:
        """Follow a slider or a switch. Bound by name, because the controls are loaded after the first
        paint.
        """
        dropped, self._dragging = self._dragging and event.final, not event.final
        self.lab.set(event.settings, event.final)
        if dropped:
            self.draw(Change.SETTINGS)

    # Pages

    def action_page(self, name: str) -> None:
        """Open a page over the screen with another view of the lab."""
        self.app.push_screen(resolve_name(PAGES[name])(self.lab))

    def action_arms(self) -> None:
        """Choose the arms and ghosts to draw."""
        from tuilab.tui.screens.arms import ArmsScreen

        self.app.push_screen(ArmsScreen(self.lab, self.viewing))

    def action_keys(self) -> None:
        """Show every key on one page."""
        from tuilab.tui.screens.help import KeysScreen

        self.app.push_screen(KeysScreen(self.keymap))

    def action_jump(self) -> None:
        """Put letters on every place to go to."""
        from tuilab.tui.screens.jump import JumpScreen

        async def go(place: Widget | None) -> None:
            if place is not None and place.focusable:
                place.focus()
            elif place is not None and place.id:
                await self.views.open(place.id)

        here = [widget for widget in self.focus_chain if widget.region and widget.region.y >= 0]
        self.app.push_screen(JumpScreen([*here, *self.views.query("Tab")]), go)

    def action_fact_check(self) -> None:
        """Measure every claim of this preset's document, over the lab."""
        from tuilab.lab import fact_check
        from tuilab.tui.screens.fact_check import FactCheckScreen

        state = self.lab.state
        source = state.settings.preset.source if state.settings else None
        if source is None:
            self.say(
                "This preset has no document. {open} opens one; {document.fact-check} there measures it."
            )
            return
        if not any(p.source and p.source.document == source.document and p.claims for p in state.presets):
            self.say("No claim of this preset's document can be measured.")
            return
        check, presets = fact_check.bundled(source.document, state.presets)
        self.app.push_screen(FactCheckScreen(self.lab, check, presets))

    def action_hosts(self) -> None:
        """List the other machines and environments to measure in, with a line to add one."""
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
        """Measure there too; reports an invalid name."""
        with self._told():
            if name and "=" in name:
                name = await self.lab.add_environment(name)
                self.say(
                    f"Starting {name}; it measures in turns with the others. The device slider selects it."
                )
            elif name:
                self.lab.add_host(name)
                self.say(f"Connecting to {name}; choose it with the device slider.")

    def action_copy(self) -> None:
        """Copy the equivalent command line, to the clipboard and to a file."""
        settings, text = self.lab.state.settings, ""
        if settings is None:
            return
        line = self.lab.state.command(sweeping=self.views.key == "sweep")
        if not settings.file and settings.preset.name not in self.lab.state.listed:
            text = " To use it in a shell, run `tuilab import` on its document."
        self.app.copy_to_clipboard(line)
        kept = keep_command(line)
        self.say(f"{line}\n\nCopied" + (f"; also in {kept}." if kept else ".") + text)

    def action_export(self) -> None:
        """Save this view or run as a file."""
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

    def action_history(self) -> None:
        """List the saved runs, to find, compare, tag, pin, delete, export or replay."""
        from tuilab.lab.replay import RUN
        from tuilab.tui.screens.history import HistoryScreen

        async def chosen(run: str | None) -> None:
            if run:
                await self.play(RUN + run)

        self.app.push_screen(HistoryScreen(self.lab), chosen)
