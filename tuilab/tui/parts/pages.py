"""Opens the pages over the main screen, writes exports, and copies the command line that repeats a
measurement.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from pkgutil import resolve_name

from tuilab.lab.files import keep_command, preferences
from tuilab.lab.hosts import about
from tuilab.lab.offers import Offer
from tuilab.lab.replay import RUN
from tuilab.tui.parts.context import Context
from tuilab.tui.parts.playing import Entry, Player

PAGES = {
    "answer": "tuilab.tui.screens.answer:AnswerScreen",
    "machines": "tuilab.tui.screens.machines:MachinesScreen",
    "why": "tuilab.tui.screens.why:WhyScreen",
}
"""Classes of pages, by name of the page. Each class is imported on first use, and constructed with the lab.
"""
ADDS = """For another machine, the system's ssh starts a worker with your configuration, keys and agent; \
tuilab never sees a password. `ssh HOST true` must work without a prompt, and tuilab must be installed on \
that host.

For another environment on this machine (TensorFlow 2.16 or later), type NAME=PATH or \
NAME=PATH,VARIABLE=VALUE. tuilab installs and writes nothing in that environment."""


class Pages:
    def __init__(self, context: Context, player: Player, keymap: Mapping[str, str]) -> None:
        """keymap: the keys that the user has changed, by action id."""
        self._screen, self._lab, self._corner = context.screen, context.lab, context.corner
        self._views, self._viewing = context.views, context.viewing
        self._player, self._keymap = player, keymap

    def entries(self) -> Iterator[Entry]:
        """Yield palette entries for exports, for the run's findings and for the doctor's findings."""
        from tuilab.lab.export import formats

        for offer in formats(bool(self._lab.state.shown.run)):
            do = partial(self._screen.call_after_refresh, partial(self._write, offer.key))
            yield f"export {offer.label}", offer.detail, do, "save write file share screenshot report"
        result, report = self._lab.state.result(), self._lab.diagnosis
        for found in result.diagnosis if result is not None else ():
            title, words = f"finding: {found.code.replace('-', ' ')}", "why slow bottleneck advice"
            yield title, found.message, partial(self.open, "answer"), words
        if report is not None and not report.gpu_visible:
            words = "why slow cuda driver cause fix"
            yield "doctor: no GPU is visible", report.cause, partial(self.open, "why"), words

    def open(self, name: str) -> None:
        self._screen.app.push_screen(resolve_name(PAGES[name])(self._lab))

    def arms(self) -> None:
        from tuilab.tui.screens.arms import ArmsScreen

        self._screen.app.push_screen(ArmsScreen(self._lab, self._viewing))

    def keys(self) -> None:
        from tuilab.tui.screens.help import KeysScreen

        self._screen.app.push_screen(KeysScreen(self._keymap))

    def fact_check(self) -> None:
        from tuilab.lab import fact_check
        from tuilab.tui.screens.fact_check import FactCheckScreen

        state = self._lab.state
        source = state.settings.preset.source if state.settings else None
        if source is None:
            self._corner.say(
                "This preset has no document. {open} opens one; {document.fact-check} then checks its claims."
            )
            return
        if not any(p.source and p.source.document == source.document and p.claims for p in state.presets.all):
            self._corner.say("No claim in this preset's document can be measured.")
            return
        check, presets = fact_check.bundled(source.document, state.presets.all)
        self._screen.app.push_screen(FactCheckScreen(self._lab, check, presets))

    def hosts(self) -> None:
        from tuilab.tui.screens.menu import MenuScreen

        known = self._lab.state.hosts.known
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
        self._screen.app.push_screen(page, self.add_host)

    async def add_host(self, name: str | None) -> None:
        """Add a host to all later measurements, or a Python environment if `name` contains `=`. Shows a
        message if the name is invalid.
        """
        with self._corner.refusals():
            if name and "=" in name:
                name = await self._lab.add_environment(name)
                self._corner.say(
                    f"Added {name}; it takes turns with the other environments. The device slider selects it."
                )
            elif name:
                self._lab.add_host(name)
                self._corner.say(f"Added {name}; choose it with the device slider.")

    def history(self) -> None:
        from tuilab.tui.screens.history import HistoryScreen

        async def chosen(run: str | None) -> None:
            if run:
                await self._player.play(RUN + run)

        self._screen.app.push_screen(HistoryScreen(self._lab), chosen)

    def copy(self) -> None:
        """Copy the command line for the current settings to the clipboard and to a file."""
        settings, text = self._lab.state.settings, ""
        if settings is None:
            return
        line = self._lab.state.command(sweeping=self._views.key == "sweep")
        if not settings.file and settings.preset.name not in self._lab.state.presets.listed:
            text = " To use it in a shell, first run `tuilab import` on the document."
        self._screen.app.copy_to_clipboard(line)
        kept = keep_command(line)
        self._corner.say(f"{line}\n\nCopied" + (f"; also in {kept}." if kept else ".") + text)

    def export(self) -> None:
        from tuilab.lab.export import formats
        from tuilab.tui.screens.menu import MenuScreen

        def chosen(key: str | None) -> None:
            if key:
                # wait until the page has closed, because a picture of the screen must show the lab itself
                self._screen.call_after_refresh(lambda: self._write(key))

        there = formats(bool(self._lab.state.shown.run))
        self._screen.app.push_screen(MenuScreen("Export to the current folder", there), chosen)

    def _write(self, key: str) -> None:
        folder = Path.cwd()
        picture = partial(self._screen.app.export_screenshot, title="tuilab")
        try:
            self._corner.say(f"Written: {self._lab.saved.export_shown(key, folder, picture)}")
        except OSError as error:
            self._corner.say(f"Cannot write to {folder}: {error.strerror}", "error")
        except ValueError as error:
            self._corner.say(f"Nothing was exported: {error}", "error")
