"""Opens what a path names: a document, a preset file, a recording, the user's own code."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tuilab.lab.files import from_here, remember_opened, reopened
from tuilab.lab.offers import Offer
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.presentation import titles
from tuilab.tui.panels.presets import PresetsPanel
from tuilab.tui.screens.lab_playing import Playing

if TYPE_CHECKING:
    from tuilab.lab.settings import Own
    from tuilab.model.events import Progress
    from tuilab.model.preset import Preset

TYPED = "train.py, model.keras, mine.py:forward, article.md"
OPENS = """A program to watch; a Keras model, SavedModel or function to measure; an article to check; \
a preset or a recording. Type its path below, then enter."""


class Opening(Playing):
    """The part of the main screen that opens files; a recording is replayed."""

    _mistyped = ""
    """A path that could not be opened, to be corrected."""
    reading = ""
    """The user's file that is being loaded; the next measurement is meant for it."""
    _hasty = False
    """A run was requested before the file was loaded."""

    def action_open(self) -> None:
        """Open a document, a preset file or the user's own code."""
        from tuilab.tui.screens.menu import MenuScreen, Paths

        recent = [Offer(path, from_here(path)) for path in reopened()]
        self.app.push_screen(
            MenuScreen("Open", recent, typed=TYPED, empty=OPENS, suggester=Paths(), begun=self._mistyped),
            self.open_soon,
        )

    def open_soon(self, words: str | None) -> None:
        """Open what a path names in the background: reading and asking the worker take time."""
        self.run_worker(self.open_path(words), exit_on_error=False)

    async def open_path(self, words: str | None, taken: Callable[..., None] | None = None) -> None:
        """Open what a path names, and report problems. taken: called with a preset."""
        from tuilab.lab import opening
        from tuilab.lab.naming import resolve
        from tuilab.lab.questions import RefusedInput, Unanswered
        from tuilab.model.errors import InputError
        from tuilab.model.subject import Article, NamedPreset, Program, Recording, Script
        from tuilab.presentation.status import progress_text
        from tuilab.tui.screens.document import DocumentScreen
        from tuilab.tui.screens.menu import MenuScreen

        if not words:
            return
        self._mistyped = words
        name = Path(words).name

        def heard(progress: "Progress") -> None:
            self.say(f"{name}: {progress_text(progress, self.lab.state.shown)}…")

        try:
            typed, given = opening.with_shapes(words)
            match subject := resolve(typed):
                case Recording(path):
                    await self.play(path)
                case Article(path) | Script(path):
                    report = await run_in_daemon_thread(opening.document, path)
                    offers = opening.offered(path, report) if isinstance(subject, Script) else []
                    words = path
                    if offers:
                        self.app.push_screen(MenuScreen(name, offers, find=True), self.open_soon)
                    else:
                        self.app.push_screen(DocumentScreen(report, self.lab), self._take)
                case Program(path):
                    self.app.watch_program(path)  # type: ignore[attr-defined]
                case NamedPreset(name) if any(each.name == name for each in self.lab.state.presets):
                    self.open_preset(name)
                case _:
                    if subject.place:
                        self.reading = name
                        self.say(f"Reading {self.reading}…")
                    found = await opening.preset(self.lab, typed, subject, given, heard)
                    (taken or self._take)(*found)
                    if self._hasty and not self.lab.rerun:
                        self.lab.begin()
            self._mistyped = ""
            remember_opened(words)
        except InputError as error:
            if isinstance(error, RefusedInput) and error.lacking:
                self._ask_shapes(words, error.lacking)
                return
            self.say(f"{error}. {{open}} brings back what you typed.", "error")
        except Unanswered as error:
            self.lab.log(error.detail or str(error), "error")
            more = " The log ({view-log}) has the details." if error.detail else ""
            self.say(f"{words}: {str(error).splitlines()[-1]}{more}", "error")
        finally:
            self.reading, self._hasty = "", False

    def _ask_shapes(self, words: str, lacking: "Sequence[str]") -> None:
        """Ask for the shapes of a function's arguments, then open it with them."""
        from tuilab.lab.opening import of_shapes, with_shapes
        from tuilab.tui.screens.shapes import ShapesScreen

        name = with_shapes(words)[0]

        def given(shapes: "Sequence[str] | None") -> None:
            if shapes:
                self.open_soon(of_shapes(name, shapes))

        self.say("")
        self.app.push_screen(ShapesScreen(name.rpartition(":")[2], lacking), given)

    def _take(self, preset: "Preset | None", own: "Own | None" = None) -> None:
        """List one more preset, open it and measure it."""
        if preset is not None:
            self.lab.add_preset(preset, own)
            self._list_presets()
            self.open_preset(preset.name)

    def _list_presets(self) -> None:
        self.query_one(PresetsPanel).load(titles.titles(self.lab.state.presets, self.lab.state.problems))

    def open_preset(self, name: str) -> None:
        """Open a preset, and measure it if live sliders are on."""
        preset = next(p for p in self.lab.state.presets if p.name == name)
        self.lab.open(preset)
        views = self.views
        if (preset.sweep is None) == (views.key == "sweep"):
            # Show the view that fits the preset: a curve for a sweep, samples otherwise.
            self.call_later(views.open, "sweep" if preset.sweep else "live")
        self.close_drawer()
