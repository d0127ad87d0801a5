"""What of the session each panel of the main screen shows, and when it is drawn again."""

import importlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from textual.containers import Container

from tuilab.lab import Lab, titles
from tuilab.lab.answer import answer
from tuilab.lab.changes import Change
from tuilab.lab.status import status
from tuilab.model.machine import Machine
from tuilab.model.result import Crossover, RunResult
from tuilab.tui.panels.controls import Controls
from tuilab.tui.panels.header import Header
from tuilab.tui.panels.placement import PlacementLog
from tuilab.tui.panels.presets import Presets, PresetsPanel
from tuilab.tui.panels.views import Views
from tuilab.tui.views.base import View
from tuilab.tui.widgets.answer import AnswerPanel

if TYPE_CHECKING:
    from tuilab.tui.screens.lab import LabScreen

FIGURES = Change.RUN | Change.REPORT | Change.OVER | Change.SETTINGS | Change.LOOK


class Drawing:
    """Fills the frames of the main screen and keeps what is in them true."""

    def __init__(self, screen: "LabScreen", lab: Lab) -> None:
        self._screen, self._lab, self._session = screen, lab, lab.state
        self.header = screen.query_one(Header)
        self.presets = screen.query_one(Presets)
        self.views = screen.query_one(Views)
        self.answer = AnswerPanel()
        self.controls = Controls()
        self.placement = PlacementLog()
        self.titles: tuple[titles.Title, ...] = ()

    async def fill(self) -> None:
        """Mount what the frames hold."""
        screen = self._screen
        with screen.app.batch_update():
            await screen.query_one("#answer", Container).mount(self.answer)
            await screen.query_one("#controls", Container).mount(self.controls)
            await screen.query_one("#below", Container).mount(self.placement)
            self.views.source = load_view
            await self.views.open(self.views.key)
            if self._session.settings is not None:
                session = self._session
                await self.controls.show(self._session.settings, session.machine, tuple(session.hosts.known))

    def show_presets(self) -> None:
        """Fill the list of presets."""
        self.titles = titles.titles(self._session.presets, self._session.problems)
        self._screen.query_one(PresetsPanel).load(self.titles)

    def draw(self, change: Change) -> None:
        """Show what changed."""
        session = self._session
        self._header()
        said = answer(session)
        self.answer.say(said.sentence, said.verdict, said.claim, said.detail)
        if change & (Change.SETTINGS | Change.OVER | Change.LOOK):
            opened = session.settings.preset.name if session.settings else ""
            self.presets.show(opened, session.verdicts)
        if change & (Change.SETTINGS | Change.WORKER) and session.settings is not None:
            hosts = tuple(session.hosts.known)
            self._screen.call_later(self.controls.show, session.settings, session.machine, hosts)
        if change & FIGURES:
            self._crossover()
            self._below(change)
        view = self.views.view
        if view is not None and view.wants(change):
            view.draw(session)

    def open_view(self) -> None:
        """Draw the view that has just been opened."""
        view = self.views.view
        if view is not None:
            view.session = self._session
            view.lab = self._lab
            view.draw(self._session)

    def _header(self) -> None:
        session = self._session
        now = status(session)
        title = session.settings.preset.title if session.settings else ""
        stop = f" · {now.stop} stops" if now.stop else ""
        machine = session.shown.machine if session.replay else session.machine
        self.header.show(title, machine_words(machine), now.tone, now.text + stop)

    def _crossover(self) -> None:
        result = self._session.result() if self._session.shown.sweep else None
        settings = self._session.settings
        same = result is not None and settings is not None and settings.preset.name == result.preset
        self.controls.show_crossover(crossover_of(result) if same else None)

    def _below(self, change: Change) -> None:
        if self.placement.is_on_screen:
            self.placement.draw(self._session)


def crossover_of(result: RunResult | None) -> Crossover | None:
    """The crossover that a slider can show: the first that was found."""
    if result is None:
        return None
    found = result.crossovers or ((result.crossover,) if result.crossover else ())
    return next((c for c in found if c.at is not None), None)


def load_view(place: str) -> type[View]:
    """A view's class from `module:name`."""
    module, _, name = place.partition(":")
    return cast(type[View], getattr(importlib.import_module(module), name))


def machine_words(machine: Machine | None) -> Sequence[str]:
    """GPUs, host, processor and TensorFlow, each in a few words; what has no room goes from the end."""
    if machine is None:
        return ()
    gpus = [short_gpu(d.description or d.name) for d in machine.gpus]
    gpu = f"{len(gpus)} × {gpus[0]}" if len(gpus) > 1 and len(set(gpus)) == 1 else ", ".join(gpus)
    return (
        gpu or "no GPU",
        f"host {machine.host}",
        f"{short_cpu(machine.cpu)} {machine.cores} core{'' if machine.cores == 1 else 's'}",
        "TF " + ".".join(machine.tensorflow.split(".")[:2]),
    )


def short_cpu(name: str) -> str:
    """`Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz` → `Intel Xeon Platinum 8481C`."""
    name = re.sub(r"\((R|TM|tm|r)\)|\bCPU\b|\bProcessor\b|\b\d+-Core\b|@.*$", " ", name)
    return " ".join(name.split())[:28].strip()


def short_gpu(description: str) -> str:
    """`NVIDIA H200 141GB HBM3e` → `NVIDIA H200`."""
    match = re.search(r"name: ([^,]+)", description)
    words = (match[1] if match else description).split()
    return " ".join(words[:3])
