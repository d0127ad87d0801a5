"""Every widget with realistic data, one page each: `python -m tests.tui.gallery [page]`."""

import math
import sys
from collections.abc import Callable, Iterable, Sequence

import msgspec
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.filter import LineFilter
from textual.widget import Widget

from tests.tui.data import (
    ARMS,
    arm_results,
    device_sample,
    log_lines,
    map_result,
    placement_rows,
    run_result,
    run_state,
    spans,
)
from tuilab.lab.answer import Said
from tuilab.model.parameters import Choice
from tuilab.tui.filters import ASCII
from tuilab.tui.themes import DARK, LIGHT
from tuilab.tui.widgets.answer import AnswerPanel
from tuilab.tui.widgets.bars import Bars
from tuilab.tui.widgets.device_panel import DevicePanel
from tuilab.tui.widgets.from_run import bars_of, heat_of, live_chart, phases_of, sweep_chart
from tuilab.tui.widgets.heatmap import HeatMap
from tuilab.tui.widgets.lists import log_table, placement_table
from tuilab.tui.widgets.look import marks_for
from tuilab.tui.widgets.numbers import Numbers
from tuilab.tui.widgets.phases import Phases
from tuilab.tui.widgets.plot import Plot
from tuilab.tui.widgets.slider import Slider
from tuilab.tui.widgets.timeline import Timeline
from tuilab.workloads.stft import DECLARATION

MARKS = marks_for(ARMS)
PAGES: dict[str, Callable[[], Iterable[Widget]]] = {}


def page(make: Callable[[], Iterable[Widget]]) -> Callable[[], Iterable[Widget]]:
    """Register a page under its function's name."""
    PAGES[make.__name__] = make
    return make


class Gallery(App[None]):
    """One page of the gallery."""

    CSS = """
    Vertical { height: 1fr; border: round $border-blurred; border-title-color: $text-muted; padding: 0 1; }
    """

    def __init__(self, name: str, *, theme: str = "tuilab-dark", ascii_only: bool = False) -> None:
        super().__init__()
        self.page, self.wanted_theme, self.ascii_only = name, theme, ascii_only

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *[ASCII] * self.ascii_only]

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self.page.capitalize()
            yield from PAGES[self.page]()

    def on_mount(self) -> None:
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = self.wanted_theme


@page
def sliders() -> Iterable[Widget]:
    """The STFT's own parameters, with marks, a crossover, a bound, notes, and a device slider."""
    values = {p.name: p.default for p in DECLARATION.parameters}
    marks = {"samples": (1_000, 10_000, 1_048_576), "frame_length": (256, 512), "dtype": ("float32",)}
    notes = {"samples": "41 kB in, 165 kB out", "frame_length": "39 frames"}
    for parameter in DECLARATION.parameters:
        slider = Slider(
            parameter,
            marks=marks.get(parameter.name, ()),
            note=notes.get(parameter.name, ""),
            id=parameter.name,
        )
        slider.limit_by(DECLARATION.constraints, values)
        if parameter.name == "samples":
            slider.set_crossover(18_300, (15_000, 22_000))
        yield slider
    device = Choice(
        name="device", label="device", help="", default="CPU", options=("CPU", "both", "GPU:0", "GPU:1")
    )
    slider = Slider(device, id="device")
    yield slider


@page
def live() -> Iterable[Widget]:
    """Samples of six arms."""
    figures = {arm.id: arm for arm in arm_results()}
    yield Plot(live_chart(run_state(73), MARKS, figures=figures))


@page
def close() -> Iterable[Widget]:
    """Arms that lie close together, over a ghost of an earlier run."""
    figures = {arm.id: arm for arm in arm_results()}
    ghost = run_state(110, run="r0", scale=1.08)
    yield Plot(
        live_chart(
            run_state(140), MARKS, figures=figures, shown=lambda arm: "eager" not in arm, ghosts=[ghost]
        )
    )


@page
def without_gpu() -> Iterable[Widget]:
    """The GPU arms are not there, and say so."""
    yield Plot(live_chart(run_state(12, gpu=False), MARKS))


@page
def sweep() -> Iterable[Widget]:
    """A sweep with its crossover."""
    yield Plot(sweep_chart(run_result(), MARKS))


@page
def nothing() -> Iterable[Widget]:
    """A plot of nothing."""
    yield Plot(empty="No run yet: press r to measure this scenario, or pick a preset with p.")


@page
def compare() -> Iterable[Widget]:
    """Arms as bars."""
    bars = Bars()
    bars.show_bars(bars_of(run_result(), MARKS))
    yield bars


@page
def compare_log() -> Iterable[Widget]:
    """Arms as dots on a log scale, some of them not there."""
    bars = Bars(log=True)
    bars.show_bars(bars_of(run_result(gpu=False), MARKS))
    yield bars


@page
def phases() -> Iterable[Widget]:
    """Stacked bars of phases."""
    widget = Phases()
    widget.show_phases(phases_of(run_result(), MARKS))
    yield widget


@page
def phases_relative() -> Iterable[Widget]:
    """The same as shares."""
    widget = Phases(relative=True)
    widget.show_phases(phases_of(run_result(gpu=False), MARKS))
    yield widget


@page
def numbers() -> Iterable[Widget]:
    """The table of arms."""
    widget = Numbers()
    widget.update_arms(arm_results(), MARKS)
    yield widget


@page
def placement() -> Iterable[Widget]:
    """The placement of many ops."""
    widget = placement_table()
    widget.set_rows(placement_rows(2_000))
    yield widget


@page
def log() -> Iterable[Widget]:
    """What was logged."""
    widget = log_table()
    widget.set_rows(log_lines())
    yield widget


@page
def answer() -> Iterable[Widget]:
    """The answer with each verdict."""
    sentence = (
        "CPU graph is fastest: 0.48 ms [0.47 0.50]. GPU graph 0.61 ms, 1.27 × slower; 71 % of it is copying. "
        "GPU overtakes at 18 k samples [15 k 22 k]."
    )
    for verdict in ("confirmed", "refuted", "undecided", "untestable"):
        panel = AnswerPanel()
        panel.say(Said(sentence, verdict, "A small STFT runs faster on the CPU."))
        yield panel
    panel = AnswerPanel()
    sentence = (
        "On the CPU, one graph is 9.4 × faster than eager. No GPU is visible (driver missing; g tells more)."
    )
    panel.say(Said(sentence))
    yield panel


@page
def heat() -> Iterable[Widget]:
    """A sweep of two axes."""
    widget = HeatMap()
    widget.show_heat(heat_of(map_result(), ARMS[4].id, ARMS[1].id, MARKS))
    yield widget


@page
def timeline() -> Iterable[Widget]:
    """Events on lanes."""
    widget = Timeline()
    widget.show_spans(spans(50_000))
    yield widget


@page
def timeline_short() -> Iterable[Widget]:
    """A few events."""
    widget = Timeline()
    widget.show_spans(spans(40))
    yield widget


@page
def device() -> Iterable[Widget]:
    """Telemetry of a GPU server, after a while."""
    widget = DevicePanel()
    for step in range(40):
        sample = device_sample()
        gpu = msgspec.structs.replace(sample.gpus[0], use=0.3 + 0.25 * math.sin(step / 4))
        cpu = msgspec.structs.replace(sample.cpu, use=0.5 + 0.4 * math.sin(step / 6))
        widget.show_sample(msgspec.structs.replace(sample, cpu=cpu, gpus=(gpu,)))
    yield widget


@page
def device_without_gpu() -> Iterable[Widget]:
    """Telemetry of a small host."""
    widget = DevicePanel()
    widget.show_sample(device_sample(gpu=False, cores=2))
    yield widget


if __name__ == "__main__":
    Gallery(sys.argv[1] if len(sys.argv) > 1 else "sliders").run()
