"""Why this device: what the doctor finds on this machine, and what a GPU would run of the open preset."""

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tuilab.lab.questions import Unanswered
from tuilab.model.errors import InputError
from tuilab.model.explain import ExplainScenario, ScenarioExplanation
from tuilab.report.doctor import LABEL, doctor_text
from tuilab.report.explained import scenario_text
from tuilab.tui.screens.modal import TextPage

if TYPE_CHECKING:
    from tuilab.lab import Lab

STYLES = {"GPU": "bold", "fix": "$accent", "ok": "$success", "warn": "$warning", "fail": "$error"}
"""Of what stands before the doctor's lines."""
LIMIT_S = 30


class WhyScreen(TextPage):
    """Two sections, each filled when its answer is there."""

    HELP = """\
## Why this device

The **doctor** checks driver, libraries, environment and TensorFlow's own list, and names the cause in one
line with the command that fixes it. The **forecast** says for each op of the open preset whether a GPU of
this TensorFlow would run it, from the kernel registry; it says nothing about time. **r** checks again.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "again", "look again", show=False, id="why.again"),
        Binding("g,q", "close", "close", show=False, id="why.close"),
    ]

    def __init__(self, lab: "Lab") -> None:
        super().__init__("Why this device", "r looks again, esc closes")
        self._lab = lab
        self._seconds, self._at_most, self._examining = 0, LIMIT_S, False
        self._doctor: list[Content] = []
        self._ops: list[Content] = []

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)
        self.action_again(afresh=False)

    def action_again(self, afresh: bool = True) -> None:
        """Look, or look again."""
        lab = self._lab
        if afresh:
            lab.diagnosis = None
        self._seconds = 0
        self.run_worker(self._forecast(), group="forecast", exclusive=True, exit_on_error=False)
        if lab.diagnosis is not None:
            self._tell_diagnosis()
        elif lab.state.asked:
            self._say("The doctor waits for the run to end, so as not to disturb it; press r then.")
        else:
            self.run_worker(self._examine(), group="doctor", exclusive=True, exit_on_error=False)

    def _tick(self) -> None:
        self._seconds += 1
        if self._examining:
            self._say(f"The doctor is looking: {self._seconds} s of at most {self._at_most}. esc closes.")

    def _compiling(self, seconds: float) -> None:
        """The driver is compiling kernels for this GPU, so the doctor takes longer. Called in its thread."""
        self._at_most = LIMIT_S + round(seconds)

    async def _examine(self) -> None:
        self._examining = True
        self._say("The doctor is looking…")
        try:
            await self._lab.doctor(self._compiling)
        finally:
            self._examining = False
        self._tell_diagnosis()

    async def _forecast(self) -> None:
        lab = self._lab
        settings = lab.state.settings
        if settings is None:
            return
        waits = "when the run is over" if lab.state.asked else "while the worker looks"
        words = f"The forecast for {settings.preset.name} will appear {waits}."
        self._say_ops("", Content.styled(words, "$primary"))
        every = settings.arms_on(lab.state.machine)
        arms = {(a.device, a.variant): a for a in reversed(every) if a.mode != "eager"}
        question = ExplainScenario(scenario=settings.scenario, arms=tuple(arms.values()) or every[:1])
        try:
            answer = await lab.ask("explain-scenario", question, ScenarioExplanation)
        except (Unanswered, InputError) as error:
            self._say_ops("", f"No forecast: {error}")
            return
        title = Content.styled(f"Forecast for {settings.preset.title}", "$accent")
        self._say_ops("", title, *scenario_text(answer).splitlines())

    def _say(self, *lines: str | Content) -> None:
        self._doctor = [Content.assemble(line) for line in lines]
        self.show([*self._doctor, *self._ops])

    def _say_ops(self, *lines: str | Content) -> None:
        self._ops = [Content.assemble(line) for line in lines]
        self.show([*self._doctor, *self._ops])

    def _tell_diagnosis(self) -> None:
        assert self._lab.diagnosis is not None
        lines = doctor_text(self._lab.diagnosis, min(93, self.app.size.width - 10)).splitlines()
        heads = ((line, STYLES.get(line[:LABEL].strip(), "$primary")) for line in lines)
        self._say(*(Content.assemble((line[:LABEL], style), line[LABEL:]) for line, style in heads))
