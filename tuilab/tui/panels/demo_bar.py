"""The demo's panel above the answer: next step, guess, result."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content

from tuilab.lab.fact_check import write_page
from tuilab.presentation.demo import GUESSES, Demo, begin, lines, measured, page, update_steps
from tuilab.tui.keys import spoken
from tuilab.tui.messages import Hearing, LabChanged
from tuilab.tui.widgets.answer import numbers_strong
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import ACCENT, MUTED, STRONG, Line
from tuilab.tui.widgets.wording import clip, fit

if TYPE_CHECKING:
    from tuilab.lab import Lab


HEIGHT, TOLD, ROOMY = 6, 8, 36
"""Rows of the bar, border included: before a result, and with one. On a screen with at least `ROOMY` rows,
the list of results gets one more row.
"""


class DemoBar(LineWidget, Hearing, can_focus=True):
    DEFAULT_CSS = "DemoBar { width: 1fr; }"
    HELP = """\
## The demo

For each document in turn, guess whether its claim holds on this machine (**{demo.guess-1} {demo.guess-2}
{demo.guess-3}**); the lab then measures it and shows the verdict and the reason. **{demo.next}** goes to the
next document, **{demo.back}** to the previous one, **{demo.pause}** pauses. At the end, your score appears
here; **{demo.page}** writes an HTML page with all measurements to share. **{demo.leave}** leaves the demo and
returns to the previous screen; the runs are in the history.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(n), f"guess({n})", "guess", show=False, id=f"demo.guess-{n}")
            for n in range(1, 1 + len(GUESSES))
        ),
        Binding("n,enter,right", "next", "next", show=False, id="demo.next"),
        Binding("left", "back", "back", show=False, id="demo.back"),
        Binding("space", "pause", "pause", show=False, id="demo.pause"),
        Binding("e", "page", "write a page", show=False, id="demo.page"),
        Binding("escape", "leave", "leave the demo", show=False, id="demo.leave"),
    ]

    def __init__(self, lab: "Lab", demo: Demo, done: Callable[[], object]) -> None:
        super().__init__(id="demo", classes="frame")
        self.lab, self._demo, self._done = lab, demo, done
        self._came_from = lab.state.place
        self._written = ""

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)
        self._enter(0)

    def paint(self, width: int, height: int) -> Sequence[Line]:
        sentence, question, keys = (spoken(self, text) for text in lines(self._demo))
        told, keys = self._demo.stage in ("told", "summary"), self._written or keys
        # The result has priority. The reason gets the remaining rows, because the answer panel also shows it.
        first = clip(sentence, width, max(1, height - 1 - (not told)))
        out: list[Line] = [((line, STRONG),) for line in first]
        if (left := height - 1 - len(first)) > 0:
            out += [((line, ACCENT),) for line in clip(question, width, left if told else 1)]
        if told:
            out = [tuple(numbers_strong(text)) for ((text, _),) in out]
        return [*out, ((fit(keys, width), MUTED),)]

    def _enter(self, at: int) -> None:
        demo, self._written, self.styles.height = self._demo, "", HEIGHT
        begin(self.lab, demo, at)
        self.lab.keep_secret(True)
        # a string would be parsed as markup
        title = self._marked(f"Demo {demo.at + 1} of {len(demo.steps)}")
        self.border_title = Content(f"{title}: {demo.preset.title}")
        self.repaint()

    def _marked(self, title: str) -> str:
        machine = self.lab.state.machine
        return machine.mark_title(title) if machine is not None else title

    def _measure(self) -> None:
        self._demo.stage = "measure"
        self.call_later(self.screen.run_action, "view('live')")
        self.lab.begin("quick")
        self.repaint()

    @on(LabChanged)
    def _receive(self, changed: LabChanged) -> None:
        if measured(self.lab, self._demo, changed.event):
            self.lab.keep_secret(False)
            self.styles.height = TOLD
            self.repaint()
            self.call_later(self._race)

    async def _race(self) -> None:
        await self.screen.run_action("view('compare')")
        for view in self.screen.query("Compare"):
            await view.run_action("race")

    def _tick(self) -> None:
        if self._demo.tick():
            self.action_next()
        elif self._demo.stage != "measure" and not self._demo.paused:
            self.repaint()

    def action_guess(self, number: int) -> None:
        if self._demo.choose(number):
            self._measure()

    def action_next(self) -> None:
        """Measure without a guess, or open the next preset, or show the demo's results."""
        demo = self._demo
        if demo.at == 0 and demo.stage == "told":
            state = self.lab.state
            update_steps(demo, state.presets.all, state.machine, state.verdicts)
        if demo.stage == "guess":
            self._measure()
        elif not demo.last:
            self._enter(demo.at + 1)
        elif demo.stage == "told":
            demo.sum_up()
            self.styles.height = TOLD + (self.screen.size.height >= ROOMY)
            self.border_title = Content(f"{self._marked('Demo')}: results")
            self.repaint()

    def action_back(self) -> None:
        self._enter(self._demo.at - (self._demo.stage != "summary"))

    def action_pause(self) -> None:
        self._demo.paused = not self._demo.paused
        self.repaint()

    def action_page(self) -> None:
        """Write a page with the measurements so far to the current folder."""
        state = self.lab.state
        try:
            path = write_page(page(self._demo, state.machine, state.shown.at), Path.cwd(), "html")
        except OSError as error:
            self._written = f"cannot write to {Path.cwd()}: {error.strerror}"
        else:
            self._written = f"written: {path}"
        self.repaint()

    def action_leave(self) -> None:
        """End the demo, and restore the settings and the run from before the demo."""
        self.lab.go_back(self._came_from)
        self.lab.keep_secret(False)
        self._done()
