"""What happens after the first paint: the worker starts, presets are read, the frames are filled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuilab.history.store import Store
from tuilab.lab.changes import Change
from tuilab.lab.questions import Questions
from tuilab.lab.state import LabState
from tuilab.model.events import Event
from tuilab.runner.multi_host import MultiHostRunner
from tuilab.tui.control import Control

if TYPE_CHECKING:
    from tuilab.catalogue import Catalogue
    from tuilab.model.doctor import DoctorReport
    from tuilab.tui.drawing import Drawing
    from tuilab.tui.screens.lab import LabScreen


class Canvas:
    """Lets the control draw before there is anything to draw on."""

    drawing: "Drawing | None" = None

    def __init__(self, screen: "LabScreen") -> None:
        self._screen = screen

    def draw(self, change: Change) -> None:
        """Show what changed, once the screen is filled."""
        if self.drawing is not None:
            self.drawing.draw(change)

    def sent(self) -> int:
        """Bytes that went to the terminal so far."""
        return self._screen.app.meter.sent

    def after_paint(self, call: Callable[[], None]) -> None:
        """Call back once what was drawn is on its way to the terminal."""
        self._screen.call_after_refresh(call)


@dataclass
class Lab:
    """What a filled screen works with."""

    session: LabState
    control: Control
    drawing: "Drawing"
    questions: Questions
    store: Store
    diagnosis: "DoctorReport | None" = None


async def begin(screen: "LabScreen", found: "Catalogue | None" = None) -> None:
    """Fill the screen. The worker comes first: it takes longest.

    found: the presets, where they have been read already.
    """
    app, options = screen.app, screen.app.options
    session = options.session() if options.session else LabState()
    canvas = Canvas(screen)
    control = Control(session, canvas, options.runner or MultiHostRunner, options.rerun)
    app.control = control
    await control.start()

    from tuilab import catalogue
    from tuilab.lab import titles
    from tuilab.lab.files import first_visit
    from tuilab.lab.recorder import RunRecorder
    from tuilab.tui.drawing import Drawing
    from tuilab.tui.widgets.plot import figure

    questions = Questions(control.runner, control.receive)
    drawing = Drawing(screen, session, questions)
    session.load(found or catalogue.load(*options.presets))
    drawing.show_presets()
    _open_first(session, options.preset)
    session.newcomer = options.newcomer if options.newcomer is not None else first_visit()
    await drawing.fill()
    canvas.drawing = drawing

    def told(text: str) -> None:
        control.say(text, "warning")
        screen.say(text, "warning")

    keeper = app.keeper = RunRecorder(session, told, options.store() if options.store else None)
    session.spool, session.finish = keeper.spool, options.hangup == "finish"

    def elsewhere(event: Event) -> None:
        for text, level in session.hosts.said:
            screen.say(text, "error" if level == "error" else "information")
        session.hosts.said.clear()

    control.listeners += [questions.receive, keeper.receive, elsewhere]
    screen.lab = Lab(session, control, drawing, questions, keeper.store)
    for problem in [*keeper.notices, *app.read_keymap()]:
        told(problem)
    if options.preset and ".py:" not in options.preset and not session.knows(options.preset):
        told(f"There is no preset {options.preset!r}; p lists those that there are.")
    drawing.draw(~Change.NOTHING)
    titles.keep(options.presets, options.presets or catalogue.folders(), drawing.titles)
    screen.run_worker(screen.show_pinned(), exit_on_error=False)
    # The plotting library is loaded while the worker still loads TensorFlow.
    screen.run_worker(figure, thread=True, exit_on_error=False)
    if options.replay is not None:
        await screen.play(str(options.replay))
    elif ".py:" in options.preset:
        screen.open_soon(options.preset)
    elif options.demo:
        await screen.action_demo()
    elif screen.hasty:
        control.run()


def _open_first(session: LabState, name: str) -> None:
    """Have a preset open from the start: the one asked for, else the first. Nothing is measured yet."""
    for preset in session.presets:
        if preset.name == name or not name:
            session.choose(preset)
            return
    if session.presets:
        session.choose(session.presets[0])
