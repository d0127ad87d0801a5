"""Opens the subject of a typed path: a document, a preset file, a recording, or the user's own code."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tuilab.lab.files import from_here, remember_opened, reopened
from tuilab.lab.naming import resolve
from tuilab.lab.offers import Offer
from tuilab.lab.questions import RefusedInput, Unanswered
from tuilab.lab.settings import Own
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.errors import InputError
from tuilab.model.events import Progress
from tuilab.model.parameters import Value
from tuilab.model.preset import Preset
from tuilab.model.subject import Article, NamedPreset, PresetFile, Program, Recording, Script
from tuilab.presentation import program as says
from tuilab.presentation import titles
from tuilab.presentation.status import progress_text
from tuilab.tui.panels.header import Header
from tuilab.tui.parts.context import Context
from tuilab.tui.parts.navigation import Navigation
from tuilab.tui.parts.playing import Entry, Player

if TYPE_CHECKING:
    from tuilab.tui.screens.menu import MenuScreen

TYPED = "train.py --epochs 1, model.keras, mine.py:forward, article.md"
OPENS = """Open a program to watch, a Keras model, SavedModel or function to measure, an article to check, \
a preset or a recording. Type its path below, then press enter."""


def path_question(begun: str = "") -> "MenuScreen":
    """Return a page on which the user types a path. begun: initial text of the field."""
    from tuilab.tui.screens.menu import MenuScreen, Paths

    recent = [Offer(path, from_here(path)) for path in reopened()]
    return MenuScreen("Open", recent, typed=TYPED, empty=OPENS, suggester=Paths(), begun=begun)


class Opener:
    reading = ""
    """Name of the user's file that is being loaded; "" if there is none. Until the file is loaded, the run
    key requests a run of this file.
    """
    run_requested = False
    """True if the user requested a run while a file was being loaded."""
    sweep_requested: Callable[[], Awaitable[None]] | None = None
    """Begins the sweep that the user requested while a file was being loaded."""
    _mistyped = ""
    """A path that could not be opened. The next page that asks for a path shows this path for correction."""

    def __init__(
        self, context: Context, navigation: Navigation, player: Player, watch: Callable[..., None]
    ) -> None:
        """watch: runs the program at a path with arguments, and shows its page."""
        self._screen, self._lab, self._corner = context.screen, context.lab, context.corner
        self._panel, self._views = context.panel, context.views
        self._navigation, self._player, self._watch = navigation, player, watch

    def entries(self) -> Iterator[Entry]:
        for preset in self._lab.state.presets.all:
            about = f"{preset.summary} {preset.advice} {' '.join((*preset.arms.dtypes, *preset.arms.modes))}"
            yield f"open {preset.name}", preset.title, partial(self.open_preset, preset), about

    def is_own(self, words: str) -> bool:
        """Return True unless the words name a preset. Invalid words count as the user's own, because opening
        them shows the error.
        """
        try:
            return not isinstance(resolve(words), NamedPreset | PresetFile)
        except InputError:
            return True

    def ask(self) -> None:
        self._screen.app.push_screen(path_question(self._mistyped), self.open_soon)

    def open_soon(self, words: str | None) -> None:
        """Open a path in the background, because the file and the worker may take time."""
        self._screen.run_worker(self.open_path(words), exit_on_error=False)

    async def open_path(self, words: str | None, taken: Callable[..., None] | None = None) -> None:
        """Open a path. Shows an error to the user. taken: called with the preset, and with the user's code if
        there is any.
        """
        if not words:
            return
        self._mistyped = words
        try:
            await self._open(words, taken or self._take)
        except InputError as error:
            if isinstance(error, RefusedInput) and error.lacking:
                self._ask_shapes(words, error.lacking, error.suggested)
                return
            self._corner.say(f"{error}. {{open}} restores what you typed.", "error")
        except Unanswered as error:
            self._lab.log(error.detail or str(error), "error")
            more = " The log ({view-log}) has the details." if error.detail else ""
            self._corner.say(f"{words}: {str(error).splitlines()[-1]}{more}", "error")
        finally:
            self.reading, self.run_requested, self.sweep_requested = "", False, None
            self._corner.progress("")
            self._show_opening()

    def _show_opening(self) -> None:
        for header in self._screen.query("Header").results(Header):
            header.opens(self.reading, self._lab.state)

    async def _open(self, words: str, taken: Callable[..., None]) -> None:
        """Open the subject that the words name. Raises InputError, or Unanswered if the user's code raises an
        error.
        """
        from tuilab.lab import opening

        name = Path(words).name

        def heard(progress: Progress) -> None:
            self._corner.progress(f"{name}: {progress_text(progress, self._lab.state.shown)}…")

        typed, given = opening.with_shapes(words)
        match subject := resolve(typed):
            case Recording(path):
                await self._player.play(path)
            case Article(path) | Script(path):
                await self._open_document(path, functions=isinstance(subject, Script))
                words = path
            case Program(path, arguments):
                self._watch(path, *arguments)
            case NamedPreset(known) if (preset := self._lab.state.presets.find(known)) is not None:
                self.open_preset(preset)
            case _:
                if subject.place:
                    self.reading = name
                    self._show_opening()
                    self._corner.progress(f"Reading {self.reading}…")
                taken(*await self._lab.find(typed, subject, given, heard))
                if self.sweep_requested is not None:
                    self.reading = ""
                    await self.sweep_requested()
                elif self.run_requested and not self._lab.rerun:
                    self._lab.begin()
        self._mistyped = ""
        remember_opened(words)

    async def _open_document(self, path: str, functions: bool) -> None:
        """Show the page of a document.

        functions: if the document is a Python file with other uses, such as measuring one of its functions,
        show a list of its uses instead.
        """
        from tuilab.lab import opening
        from tuilab.tui.screens.document import DocumentScreen

        report = await run_in_daemon_thread(opening.document, path)
        if functions and (offers := opening.offered(path, report)):
            from tuilab.tui.screens.menu import MenuScreen

            self._screen.app.push_screen(MenuScreen(Path(path).name, offers, find=True), self.open_soon)
        else:
            self._screen.app.push_screen(DocumentScreen(report, self._lab), self._take)

    def _ask_shapes(self, words: str, lacking: Sequence[str], suggested: Sequence[str]) -> None:
        from tuilab.lab.opening import of_shapes, with_shapes
        from tuilab.tui.screens.shapes import ShapesScreen

        name = with_shapes(words)[0]

        def given(shapes: Sequence[str] | None) -> None:
            if shapes:
                self.open_soon(of_shapes(name, shapes))

        self._screen.app.push_screen(ShapesScreen(name.rpartition(":")[2], lacking, suggested), given)

    def _take(self, preset: Preset | None, own: Own | None = None) -> None:
        if preset is not None:
            self._list(preset, own)
            self.open_preset(preset)

    def _list(self, preset: Preset, own: Own | None) -> None:
        self._lab.add_preset(preset, own)
        self.list_presets()

    def list_presets(self) -> None:
        self._panel.load(titles.titles(self._lab.state.presets.all, self._lab.state.presets.problems))

    def open_preset(self, preset: Preset) -> None:
        self._lab.open(preset)
        if (preset.sweep is None) == (self._views.key == "sweep"):
            # the view that suits the preset: the curve for a sweep, else the samples
            self._screen.call_later(self._views.open, "sweep" if preset.sweep else "live")
        self._navigation.close_drawer()

    def open_with(self, name: str, values: Mapping[str, Value], *, measure: bool) -> None:
        """Open a preset above the watched program's page. `values` sets the preset's parameters; names of
        other parameters are ignored.
        """
        preset = self._lab.state.presets.find(name)
        if preset is None:
            self._corner.say(f"There is no preset named {name}.", "warning")
        else:
            self._beside(preset, values, measure, says.beside(preset.name))

    async def open_caught(self, folder: str, *, measure: bool) -> None:
        def taken(preset: Preset, own: Own | None) -> None:
            self._list(preset, own)
            self._beside(preset, {}, measure)

        await self.open_path(folder, taken)

    def _beside(self, preset: Preset, values: Mapping[str, Value], measure: bool, about: str = "") -> None:
        self._lab.present(preset, values)
        text = "{watched} goes back to your program."
        if measure:
            self._lab.begin()
        else:
            text = f"Your program is still running and uses the processors; {{run}} measures anyway. {text}"
        if about:  # a warning stays until the user presses a key
            self._corner.say(about, "warning")
        self._corner.say(text)
