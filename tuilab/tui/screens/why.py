"""The page that explains why the GPU is or is not used: the doctor's findings, and the ops of the open preset
that a GPU could run.
"""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tuilab.lab.questions import Unanswered
from tuilab.model.errors import InputError
from tuilab.report.doctor import LABEL, doctor_text
from tuilab.report.explained import scenario_text
from tuilab.tui.keys import spoken
from tuilab.tui.screens.modal import Page, framed

if TYPE_CHECKING:
    from tuilab.lab import Lab

STYLES = {"GPU": "bold", "fix": "$accent", "ok": "$success", "warn": "$warning", "fail": "$error"}
"""Style of a line in the doctor's report, by the line's prefix."""
LIMIT_S = 30


class WhyScreen(Page[None]):
    HELP = """\
## Why this device

The **doctor** checks driver, libraries, environment and TensorFlow's device list, and names the cause in one
line with the command that fixes it. The **forecast** uses the kernel registry to show which ops of the open
preset this TensorFlow could run on a GPU; it does not predict times. **{why.again}** checks again.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "again", "check again", show=False, id="why.again"),
        Binding("g,q", "close", "close", show=False, id="why.close"),
    ]
    DEFAULT_CSS = "WhyScreen #forecast { margin-top: 1; }"

    def __init__(self, lab: "Lab") -> None:
        super().__init__()
        self._lab = lab
        self._doctor, self._forecast = Static(id="doctor"), Static(id="forecast")
        self._seconds, self._at_most = 0, LIMIT_S

    def compose(self) -> ComposeResult:
        with framed(VerticalScroll(), "Why this device", "{why.again} checks again, {page.close} closes"):
            yield self._doctor
            yield self._forecast

    def on_mount(self) -> None:
        self.set_interval(1.0, self._tick)
        self._look()

    def action_again(self) -> None:
        self._lab.diagnosis = None
        self._look()

    def _look(self) -> None:
        self.run_worker(self._tell_forecast(), group="forecast", exclusive=True, exit_on_error=False)
        if self._lab.diagnosis is None and self._lab.state.asked:
            words = (
                "The doctor does not start during a run, to avoid disturbing it; press {why.again} "
                "when the run has ended."
            )
            self._doctor.update(spoken(self, words))
        else:
            self.run_worker(self._tell_diagnosis(), group="doctor", exclusive=True, exit_on_error=False)

    def _tick(self) -> None:
        if any(worker.group == "doctor" and not worker.is_finished for worker in self.workers):
            self._seconds += 1
            words = (
                f"The doctor is examining this machine: {self._seconds} s of at most "
                f"{self._at_most}. {{page.close}} closes."
            )
            self._doctor.update(spoken(self, words))

    def _compiling(self, seconds: float) -> None:
        """Extend the time limit, because the driver compiles kernels for this GPU. Runs in the doctor's
        thread.
        """
        self._at_most = LIMIT_S + round(seconds)

    @property
    def _room(self) -> int:
        return min(93, self.app.size.width - 10)

    async def _tell_diagnosis(self) -> None:
        if self._lab.diagnosis is None:
            self._seconds = 0
            self._doctor.update("The doctor is examining this machine…")
        report = self._lab.diagnosis or await self._lab.doctor(self._compiling)
        lines = doctor_text(report, self._room).splitlines()
        heads = ((line, STYLES.get(line[:LABEL].strip(), "$primary")) for line in lines)
        told = (Content.assemble((line[:LABEL], style), line[LABEL:]) for line, style in heads)
        self._doctor.update(Content("\n").join(told))

    async def _tell_forecast(self) -> None:
        state = self._lab.state
        if state.settings is None:
            return
        waits = "when the run has ended" if state.asked else "when the worker answers"
        words = f"The forecast for {state.settings.title} will appear {waits}."
        self._forecast.update(Content.styled(words, "$primary"))
        try:
            answer = await self._lab.explain(state.settings)
        except (Unanswered, InputError) as error:
            self._forecast.update(Content(f"No forecast: {error}"))
        else:
            title = f"Forecast for {state.settings.title}\n"
            self._forecast.update(Content.assemble((title, "$accent"), scenario_text(answer, self._room)))
