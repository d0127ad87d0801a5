"""The app: themes, keys, signals, exit."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.markup import escape
from textual.theme import Theme

from tuilab.lab.files import keep_fault, preferences, remember_theme
from tuilab.tui.keys import declared, key_name
from tuilab.tui.lasting import Forgiving, LastingApp, lasting, watch
from tuilab.tui.options import Options
from tuilab.tui.screens.lab import Draw, LabScreen
from tuilab.tui.themes import DARK, LIGHT

SIGNALLED = 128
"""The exit code after a signal is this number plus the number of the signal."""
FAULT = 70
AWAY_S = 0.5
"""Seconds between checks whether the run of an app without a terminal has ended."""

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.driver import Driver
    from textual.filter import LineFilter
    from textual.screen import Screen

    from tuilab.lab import Lab
    from tuilab.lab.shown_program import ShownProgram
    from tuilab.model.parameters import Value
    from tuilab.presentation.painter import Painter


def _commands() -> "type[Provider]":
    from tuilab.tui.palette import Commands

    return Commands


class LabApp(LastingApp):
    """The lab in a terminal. The app's result is the exit code."""

    TITLE = "tuilab"
    COMMANDS: ClassVar[set["type[Provider] | Callable[[], type[Provider]]"]] = {_commands}
    CSS_PATH = os.path.join(os.path.dirname(__file__), "lab.tcss")

    def __init__(self, options: Options) -> None:
        self.terminal = Forgiving()
        super().__init__()
        self.options = options
        self.watching: ShownProgram | None = options.watching
        encoding = sys.__stderr__.encoding if sys.__stderr__ else "utf-8"
        plain = wants_ascii(os.environ, encoding)
        self.ascii_only = plain if options.ascii_only is None else options.ascii_only
        if self.ascii_only:
            self.add_class("-ascii", update=False)
        self.animation_level = "none"
        self.lab: Lab | None = None
        self.painter: Painter | None = None
        self.keymap: dict[str, str] = {}
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        theme = self._wanted_theme()
        if theme == DARK.name:
            # Textual starts with its dark theme, so it is enough to set the theme's variables. Assigning
            # `theme` would make Textual read the style sheets twice before the first paint.
            self.set_reactive(App.theme, theme)
            self.stylesheet.set_variables(self.get_css_variables())
        else:
            self.theme = theme
        self._ending: asyncio.Future[None] | None = None
        self._alone: asyncio.Future[None] | None = None
        """Finishes the active run after the terminal has disappeared."""
        self.last_words, self.faulty = "", False

    def _wanted_theme(self) -> str:
        """Return the requested theme, or else the last chosen theme, or else the dark theme. Raises
        InputError.
        """
        if asked := self.options.theme:
            named = {"light": LIGHT.name, "dark": DARK.name, **{name: name for name in self.available_themes}}
            if asked not in named:
                from tuilab.model.errors import InputError

                raise InputError("--theme", asked, "one of " + ", ".join(sorted(named)))
            return named[asked]
        kept = preferences().theme
        return kept if kept in self.available_themes else DARK.name

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the colors of CPU and GPU for themes that do not define these colors."""
        return {"cpu": "#5FAFFF", "gpu": "#FFAF00"}

    def get_driver_class(self) -> "type[Driver]":
        from textual.drivers.linux_driver import LinuxDriver

        driver = super().get_driver_class()
        # a browser page or a test has no terminal that can disappear
        return lasting(driver, self.terminal) if issubclass(driver, LinuxDriver) else driver

    def get_default_screen(self) -> "Screen[None]":
        if self.watching is None:
            return LabScreen(self.options, self._make_lab, self.keymap, self.read_keymap)
        from tuilab.tui.screens.watching import WatchScreen

        for problem in self.read_keymap():
            self.notify(problem, severity="warning", markup=False)
        return WatchScreen(self.watching)

    def watch_program(self, path: str, *arguments: str) -> None:
        """Run a user's program in its own terminal, and show its page over the lab. Raises InputError if the
        program cannot start or another watched program is still running.
        """
        from tuilab.lab.watch import Watching, WatchOptions
        from tuilab.model.errors import InputError

        if self._watched_runs or self.options.watching is not None:
            words = "another watched program is still running; {watched} shows it"
            if not self._watched_runs:
                words = f"this lab belongs to one program; watch another with `tuilab watch {path}`"
            raise InputError(path, "a second program", "no running program", words)
        watching = Watching([path, *arguments], WatchOptions())
        watching.start(self.size)
        self.watching = watching
        self.show_program()

    def show_program(self) -> None:
        from tuilab.tui.screens.watching import WatchScreen

        if isinstance(self.screen_stack[0], WatchScreen):
            self.pop_screen()
        elif self.watching is not None:
            self.push_screen(WatchScreen(self.watching))

    def action_ask_path(self) -> None:
        """Ask for a path, on top of the current screen. The lab then opens the path."""
        from tuilab.tui.parts.opening import path_question

        def typed(words: str | None) -> None:
            if words:
                self.run_worker(opened(words), exit_on_error=False)

        async def opened(words: str) -> None:
            (await (await self._over()).started()).open_soon(words)

        self.push_screen(path_question(), typed)

    async def open_preset(self, name: str, values: "Mapping[str, Value]") -> None:
        """Open a preset in the lab, above the watched program's page. `values` sets the preset's parameters;
        names of other parameters are ignored.

        Measures the preset, unless the watched program still runs and would compete for the processors.
        """
        measure = not self._watched_runs

        async def opened() -> None:
            (await (await self._over(name)).started()).open_with(name, values, measure=measure)

        self.run_worker(opened(), exit_on_error=False)

    def open_caught(self, folder: str) -> None:
        """Open a function captured from the watched program in the lab, and measure it, unless the program
        still runs.
        """
        measure = not self._watched_runs

        async def opened() -> None:
            await (await (await self._over()).started()).open_caught(folder, measure=measure)

        self.run_worker(opened(), exit_on_error=False)

    async def _over(self, preset: str = "") -> LabScreen:
        """Show the lab instead of a watched program's page. Waits until the page is gone, because the page of
        the next program has the same id. Call only from a worker of the app.
        """
        if isinstance(below := self.screen_stack[0], LabScreen):
            if self.screen is not below:
                await self.pop_screen()
            return below
        if not self.is_screen_installed("lab"):
            # The lab is created only now, because its worker would compete with the program for CPU time.
            options = replace(self.options, preset=preset)
            self.install_screen(LabScreen(options, self._make_lab, self.keymap, self.read_keymap), "lab")
        screen = self.get_screen("lab", LabScreen)
        if self.screen is not screen:
            await self.push_screen("lab")
        return screen

    @property
    def _watched_runs(self) -> bool:
        return self.watching is not None and self.watching.running

    def _make_lab(self, warn: Callable[[str], None], draw: Draw) -> "Lab":
        from tuilab.lab import Lab
        from tuilab.lab.state import LabState
        from tuilab.presentation.painter import Painter

        options = self.options
        state = options.lab_state() if options.lab_state else LabState()
        self.lab = Lab(
            state=state,
            environments=options.environments,
            runner=options.runner,
            store=options.store,
            say=warn,
            rerun=options.rerun,
        )
        self.painter = Painter(self.lab, draw, lambda: self.terminal.sent)
        return self.lab

    def get_line_filters(self) -> "Sequence[LineFilter]":
        filters = super().get_line_filters()
        if not (self.ascii_only or self.no_color):
            return filters
        from tuilab.tui.filters import ASCII, COLOURLESS

        return [*filters, *[COLOURLESS] * self.no_color, *[ASCII] * self.ascii_only]

    def get_key_display(self, binding: Binding) -> str:
        return key_name(binding.key)

    def get_system_commands(self, screen: "Screen[Any]") -> Iterable[SystemCommand]:
        """Yield the `entries` of the current screen or page for the command palette."""
        for words, help, do, *_ in getattr(screen, "entries", tuple)():
            yield SystemCommand(escape(words), escape(help), do)

    def read_keymap(self) -> list[str]:
        """Read the user's key bindings. Returns the problems with the file."""
        from tuilab.presentation import keymap

        keys, problems = keymap.read(self.options.keymap or keymap.default_path(), declared)
        self.keymap.update(keys)
        if keys:
            self.set_keymap(keys)
        return problems

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled, number)
        if not self.is_headless:
            watch(loop, lambda: self._signalled(signal.SIGHUP))
        self.theme_changed_signal.subscribe(self, self.remember_theme)

    def on_app_focus(self) -> None:
        """Redraw the whole screen: after a reload, the page in a browser is empty."""
        if self.is_web:
            self.refresh()

    def remember_theme(self, theme: Theme) -> None:
        remember_theme(theme.name)

    def _signalled(self, number: signal.Signals) -> None:
        """Exit because a signal arrived or the terminal has disappeared.

        If the connection was lost and `--hangup` is `finish`, the active run is finished and saved for the
        next start of the lab: by the worker, or by this app if the run takes several processes.
        """
        if number == signal.SIGHUP and self._alone is not None:
            return
        if number == signal.SIGHUP and self.lab is not None and self.lab.saved.unattended:
            if self.lab.saved.needs_lab:
                self._alone = asyncio.ensure_future(self._finish_alone(self.lab))
                return
            self.lab.saved.close()
            # Skip the orderly exit: asyncio would kill the worker together with its pipes, and there is no
            # terminal to restore.
            os._exit(SIGNALLED + signal.SIGHUP)
        if not self.leaving:
            if number == signal.SIGHUP and self.lab is not None and self.lab.state.running:
                self.lab.saved.mark_away()  # so that the next lab reports the stopped run
            self._ending = asyncio.ensure_future(self.leave(SIGNALLED + number))
            return
        # a second request: exit immediately
        if self.lab is not None:
            self.lab.kill_now()
        if number != signal.SIGHUP:
            self.exit(SIGNALLED + number)

    async def _finish_alone(self, lab: "Lab") -> None:
        marked = False
        while lab.state.running:
            marked = marked or lab.saved.mark_away()
            await asyncio.sleep(AWAY_S)
        if not self.leaving:  # as above: there is no terminal to restore
            await lab.close()
            os._exit(SIGNALLED + signal.SIGHUP)

    async def leave(self, code: int = 0) -> None:
        """Stop the active run, keep its data, and end the worker and the app."""
        if self.leaving:
            return
        self.leaving = True
        try:
            if self.painter is not None:
                self.painter.close()
            if self.lab is not None:
                problem = await self.lab.close()
                self.last_words = problem or self.lab.saved.farewell()
        finally:
            self.exit(code)

    def dropped(self, count: int, pasted: bool = False) -> None:
        """Notify the user that input was dropped, because too much arrived or a paste was too long."""
        text = f"Too much input: {count:,} bytes were dropped."
        if pasted:
            text = f"The pasted text is too long: its last {count:,} bytes were dropped."
        self.notify(text, severity="warning", markup=False)

    def fault(self, error: BaseException | None) -> None:
        """Write a report about an internal error to a file. The app prints a message about it on exit."""
        self.last_words, self.faulty = keep_fault(error), True

    async def action_quit(self) -> None:
        """Quit the lab. If a watched program still runs, first ask whether the program should continue."""
        if not self._watched_runs or self.leaving:
            await self.leave()
            return
        from tuilab.tui.screens.menu import MenuScreen
        from tuilab.tui.screens.watching import LEAVING, STOP

        async def chosen(key: str | None) -> None:
            if key == STOP and self.watching is not None:
                self.watching.interrupt()
            if key:
                await self.leave()

        self.push_screen(MenuScreen("The program is still running", LEAVING), chosen)

    def action_toggle_dark(self) -> None:
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name

    def action_help(self) -> None:
        from tuilab.tui.screens.help import HelpScreen, page

        self.push_screen(HelpScreen(page(self.screen, self.keymap)))


def wants_ascii(environment: Mapping[str, str], encoding: str = "utf-8") -> bool:
    """Return True if the user asks for ASCII, or if the terminal cannot show the lab's characters."""
    asked = environment.get("TUILAB_ASCII", "")
    if asked:
        return asked not in ("0", "no", "false")
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    other_charset = ("." in locale and "utf" not in locale.lower()) or "utf" not in encoding.lower()
    return environment.get("TERM", "") in ("linux", "dumb", "vt100", "vt220") or other_charset


def _given_back(app: LabApp) -> str:
    """Connect the watched program to the terminal, and wait until the program ends. Returns the program's
    page as text; "" if the lab has not started a program.
    """
    if app.watching is None or app.options.watching is not None:
        return ""
    from tuilab.lab.watch import Watching
    from tuilab.report.program import page_text

    return page_text(app.watching.leave().page()) if isinstance(app.watching, Watching) else ""


def run(options: Options) -> int:
    served = "TEXTUAL_DRIVER" in os.environ
    if not served and not all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        with contextlib.suppress(
            OSError, AttributeError
        ):  # standard error may be closed, or the disk may be full
            sys.stderr.write("tuilab: the lab needs a terminal; `tuilab run PRESET` works without one\n")
        return 2
    app = LabApp(options)
    code = None
    try:
        code = app.run()
    finally:
        if code is not None and code > SIGNALLED and app.watching is not None and app.watching.running:
            app.watching.signal(code - SIGNALLED)
        page = _given_back(app)
    words = [app.last_words, app.lab.saved.close() if app.lab is not None else ""]
    with contextlib.suppress(OSError):  # the terminal may be gone
        for text in filter(None, words):
            sys.stderr.write(f"tuilab: {text}\n")
        sys.stderr.write(f"{page}\n" * bool(page))
    if app.faulty:
        return FAULT
    return app.return_code or 0 if code is None else code
