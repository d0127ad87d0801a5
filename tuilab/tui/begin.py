"""What happens after the first paint: the worker starts, presets are read, the frames are filled."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tuilab.lab import Lab
from tuilab.lab.changes import Change
from tuilab.lab.state import LabState
from tuilab.model.events import Event

if TYPE_CHECKING:
    from tuilab.catalogue import Catalogue
    from tuilab.tui.drawing import Drawing
    from tuilab.tui.screens.lab import LabScreen


class Canvas:
    """Lets the painter draw before there is anything to draw on."""

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


async def begin(screen: "LabScreen", found: "Catalogue | None" = None) -> None:
    """Fill the screen. The worker comes first: it takes longest.

    found: the presets, where they have been read already.
    """
    app, options = screen.app, screen.app.options
    state = options.session() if options.session else LabState()

    def told(text: str) -> None:
        lab.controller.say(text, "warning")
        screen.say(text, "warning")

    lab = Lab(state=state, runner=options.runner, store=options.store, say=told, rerun=options.rerun)
    canvas = Canvas(screen)

    from tuilab.tui.painter import Painter

    app.lab, app.painter = lab, Painter(lab, canvas)
    await lab.start()

    from tuilab import catalogue
    from tuilab.lab import titles
    from tuilab.lab.files import first_visit
    from tuilab.tui.drawing import Drawing
    from tuilab.tui.widgets.plot import figure

    drawing = Drawing(screen, lab)
    state.load(found or catalogue.load(*options.presets))
    drawing.show_presets()
    _open_first(state, options.preset)
    state.newcomer = options.newcomer if options.newcomer is not None else first_visit()
    await drawing.fill()
    canvas.drawing = drawing
    recorder = lab.open_history()
    state.spool, state.finish = recorder.spool, options.hangup == "finish"

    def elsewhere(change: Change, event: Event | None) -> None:
        for text, level in state.hosts.said:
            screen.say(text, "error" if level == "error" else "information")
        state.hosts.said.clear()

    lab.subscribe(elsewhere)
    screen.lab, screen.drawing = lab, drawing
    for problem in [*recorder.notices, *app.read_keymap()]:
        told(problem)
    if options.preset and ".py:" not in options.preset and not state.knows(options.preset):
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
        lab.controller.run()


def _open_first(state: LabState, name: str) -> None:
    """Have a preset open from the start: the one asked for, else the first. Nothing is measured yet."""
    for preset in state.presets:
        if preset.name == name or not name:
            state.choose(preset)
            return
    if state.presets:
        state.choose(state.presets[0])
