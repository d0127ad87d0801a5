"""The pages that keys of the main screen open over it, and what comes of them."""

from pathlib import Path
from typing import TYPE_CHECKING

from textual.containers import Vertical

from tuilab.lab.threads import run_in_daemon_thread
from tuilab.tui.panels.views import Views
from tuilab.tui.screens.lab_actions import LabActions

if TYPE_CHECKING:
    from tuilab.lab.replay import Replay
    from tuilab.model.preset import Preset
    from tuilab.model.workload import Declaration

OPENS = """A document's text with what is wrong with its benchmarks, a preset, or your own function or Keras \
model. Type its path below, then enter."""


ADDS = """Its worker is started by the system's ssh with your configuration, keys and agent; tuilab sees no \
password. `ssh HOST true` must work without a question, and tuilab must be installed there."""


class LabPages(LabActions):
    """More actions of `LabScreen`: each loads its page when it is first asked for."""

    def action_help(self) -> None:
        """What am I looking at, and which keys work here."""
        from tuilab.tui.screens.help import HelpScreen, page

        screen = self._screen
        screen.app.push_screen(HelpScreen(page(screen.app, screen.focused, screen.query_one(Views).view)))

    def action_arms(self) -> None:
        """Choose what is drawn."""
        from tuilab.lab.changes import Change
        from tuilab.tui.screens.arms import ArmsScreen

        lab = self.lab
        if lab is not None:
            self._screen.app.push_screen(ArmsScreen(lab.state), lambda _: lab.changed(Change.LOOK))

    def action_jump(self) -> None:
        """Letters on every place."""
        from tuilab.tui.screens.jump import JumpScreen, Place

        screen = self._screen
        here = [w for w in screen.focus_chain if w.region and w.region.y >= 0]
        places = [Place(w.region.offset, widget=w) for w in here]
        views = screen.query_one(Views)
        places += [Place(at, action=f"view('{key}')") for key, at in views.tab_offsets().items()]

        async def go(place: Place | None) -> None:
            if place is not None and place.widget is not None:
                place.widget.focus()
            elif place is not None:
                await screen.run_action(place.action)

        screen.app.push_screen(JumpScreen(places), go)

    def action_why(self) -> None:
        """The doctor, and what a GPU would run."""
        from tuilab.tui.screens.why import WhyScreen

        if self.lab is not None:
            self._screen.app.push_screen(WhyScreen(self.lab))

    def action_machines(self) -> None:
        """Presets by machines, from the history."""
        from tuilab.tui.screens.machines import MachinesScreen

        if self.lab is not None:
            self._screen.app.push_screen(MachinesScreen(self.lab.store))

    def action_hosts(self) -> None:
        """The other machines to measure on, and a line to add one."""
        from tuilab.lab.hosts import about
        from tuilab.tui.screens.menu import Item, MenuScreen

        lab = self.lab
        if lab is None:
            return
        items = [Item(host.name, host.name, about(host)) for host in lab.state.hosts.known.values()]
        page = MenuScreen(
            "Measure on another machine", items, typed="an ssh alias or user@host, then enter", empty=ADDS
        )
        self._screen.app.push_screen(page, self.add_host)

    def add_host(self, name: str | None) -> None:
        """Measure on that machine too; what is wrong with its name is said."""
        from tuilab.model.errors import InputError

        lab = self.lab
        if lab is None or not name:
            return
        try:
            lab.controller.add_host(name)
        except InputError as error:
            self.say(str(error), "error")
        else:
            self.say(f"Connecting to {name}; the device slider has it as a stop.")

    def action_copy(self) -> None:
        """The command line that does the same, to the clipboard and to a file."""
        from tuilab.lab.files import keep_command

        lab = self.lab
        if lab is None or lab.state.settings is None:
            return
        line = lab.state.command(sweeping=self._screen.query_one(Views).key == "sweep")
        self._screen.app.copy_to_clipboard(line)
        kept = keep_command(line)
        self.say(f"{line}\n\nCopied" + (f"; also in {kept}." if kept else "."))

    def action_export(self) -> None:
        """Keep this view and run as a file."""
        from tuilab.lab.export import formats
        from tuilab.tui.screens.menu import Item, MenuScreen

        lab, screen = self.lab, self._screen
        if lab is None:
            return

        def chosen(key: str | None) -> None:
            if key:
                # The page has closed, so that a picture shows the lab itself.
                screen.call_after_refresh(lambda: self._write(key))

        items = [Item(f.key, f.label, f.detail) for f in formats(bool(lab.state.shown.run))]
        screen.app.push_screen(MenuScreen("Export to the current folder", items), chosen)

    def _write(self, key: str) -> None:
        from tuilab.lab.export import new_file, write_shown

        lab, folder = self.lab, Path.cwd()
        assert lab is not None
        try:
            if key == "svg":
                path = new_file(lab.state, key, folder)
                path.write_text(self._screen.app.export_screenshot(title="tuilab"), encoding="utf-8")
            else:
                path = write_shown(key, lab.state, lab.store, folder)
        except OSError as error:
            self.say(f"Nothing could be written to {folder}: {error.strerror}", "error")
        except ValueError as error:
            self.say(f"Nothing was exported: {error}", "error")
        else:
            self.say(f"Written: {path}")

    def action_open(self) -> None:
        """Open a document, a preset file or code of one's own."""
        from tuilab.tui.screens.menu import MenuScreen

        typed = "a document, a preset file, or code such as model.py:forward"
        self._screen.app.push_screen(MenuScreen("Open", (), typed=typed, empty=OPENS), self.open_soon)

    def open_soon(self, words: str | None) -> None:
        """Open what a path names, beside everything else: reading and asking the worker take their time."""
        self._screen.run_worker(self.open_path(words), exit_on_error=False)

    async def open_path(self, words: str | None) -> None:
        """Open what a path names; what is wrong with it is said."""
        from tuilab.lab import opening
        from tuilab.lab.questions import Unanswered
        from tuilab.lab.settings import preset_file
        from tuilab.model.errors import InputError

        lab = self.lab
        if lab is None or not words:
            return
        try:
            match opening.kind(words):
                case "code":
                    await self._open_code(words)
                case "preset":
                    self._take(preset_file(words))
                case "recording":
                    await self.play(words)
                case "document":
                    await self._open_document(words)
        except InputError as error:
            self.say(str(error), "error")
        except Unanswered as error:
            lab.controller.say(error.detail or str(error), "error")
            more = " The log (9) has all of it." if error.detail else ""
            self.say(f"{words}: {str(error).splitlines()[-1]}{more}", "error")

    async def _open_code(self, words: str) -> None:
        from tuilab.lab.settings import choose_own, place_of

        lab = self.lab
        assert lab is not None
        self.say(f"Asking {words} what it declares…")
        file = place_of(words)
        declaration = await lab.declare(file)
        self._take(choose_own(declaration, words).preset, (declaration, file))

    async def _open_document(self, words: str) -> None:
        from tuilab.lab import opening
        from tuilab.tui.screens.document import DocumentScreen

        report = await run_in_daemon_thread(opening.document, words)
        self._screen.app.push_screen(DocumentScreen(report), lambda p: self._take(p) if p else None)

    def _take(self, preset: "Preset", own: "tuple[Declaration, str] | None" = None) -> None:
        """List one more preset, open it and measure it."""
        lab = self.lab
        assert lab is not None
        lab.state.add(preset, own)
        self._screen.drawing.show_presets()
        self.open_preset(preset.name)

    def action_history(self) -> None:
        """Every run that was kept, to find, compare, tag, pin, delete, take along or replay."""
        from tuilab.lab.replay import RUN
        from tuilab.tui.screens.history import HistoryScreen

        async def chosen(run: str | None) -> None:
            if run:
                await self.play(RUN + run)

        if self.lab is not None:
            self._screen.app.push_screen(HistoryScreen(self.lab), chosen)

    async def show_pinned(self) -> None:
        """Draw the runs that are pinned in the history under those of the same workload."""
        import sqlite3

        from tuilab.lab.changes import Change
        from tuilab.lab.history import HistoryClient, ghosts

        lab = self.lab
        if lab is None:
            return
        ledger = HistoryClient(lab.store)
        try:
            lab.state.pinned = await ledger.do(ghosts)
        except sqlite3.Error as error:
            lab.controller.say(f"pinned runs cannot be drawn ({error})", "warning")
        finally:
            ledger.close()
        if lab.state.pinned:
            lab.changed(Change.LOOK)

    async def action_replay(self) -> None:
        """Show a recorded run as if it were live."""
        from tuilab.lab.replay import recorded
        from tuilab.tui.screens.menu import Item, MenuScreen

        lab = self.lab
        if lab is None:
            return
        found = await run_in_daemon_thread(recorded, lab.store)
        items = [Item(r.key, r.label, r.detail) for r in found]
        page = MenuScreen(
            "Replay", items, typed="or the path of a recorded file, then enter",
            empty="No run has been kept yet. Type the path of a recorded file below.",
        )  # fmt: skip
        self._screen.app.push_screen(page, self.play)

    async def play(self, name: str | None) -> None:
        """Replay a run of the history, or a file."""
        from tuilab.lab.replay import load
        from tuilab.model.errors import InputError

        lab = self.lab
        if lab is None or not name:
            return
        try:
            replay: Replay = await run_in_daemon_thread(load, lab.store, name)
        except InputError as error:
            self.say(str(error), "error")
            return
        lab.controller.replay(replay)

    async def action_demo(self) -> None:
        """Guess first, then see."""
        from tuilab.lab.demo import Demo, tour
        from tuilab.tui.panels.demo_bar import DemoBar

        lab, screen = self.lab, self._screen
        if lab is None or screen.query(DemoBar):
            return
        steps = tour(lab.state.presets)
        if not steps:
            self.say("There are no presets to show.", "warning")
            return

        async def done() -> None:
            screen.remove_class("-demo")
            await screen.query(DemoBar).remove()
            self.action_presets()

        bar = DemoBar(lab, Demo(steps), lambda: screen.call_later(done))
        screen.add_class("-demo")
        await screen.query_one("#work", Vertical).mount(bar, before=0)
        bar.focus()
        await screen.query_one(Views).open("live")
