"""Shows each widget with realistic data on a page: `python -m tests.tui.gallery [page]`."""

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.filter import LineFilter
from textual.widget import Widget

from tests.tui.data import (
    ARMS,
    arm_results,
    device_sample,
    log_lines,
    map_result,
    placement_rows,
    profile,
    run_result,
    run_state,
)
from tuilab.lab.slider import Control, reach
from tuilab.model.parameters import Boolean, Choice
from tuilab.presentation.answer import Said
from tuilab.report.chart import Chart, live_chart
from tuilab.report.sweep import heat_of, sweep_chart
from tuilab.tui.filters import ASCII
from tuilab.tui.themes import DARK, LIGHT
from tuilab.tui.views.log import log_table
from tuilab.tui.views.placement import PlacementTable
from tuilab.tui.widgets.answer import AnswerPanel
from tuilab.tui.widgets.bars import Bars
from tuilab.tui.widgets.device_panel import DevicePanel
from tuilab.tui.widgets.heatmap import HeatMap
from tuilab.tui.widgets.look import marks_for
from tuilab.tui.widgets.numbers import Numbers
from tuilab.tui.widgets.phases import Phases
from tuilab.tui.widgets.plot import Plot
from tuilab.tui.widgets.slider import Slider
from tuilab.tui.widgets.timeline import Timeline
from tuilab.workloads.stft import DECLARATION

MARKS = marks_for(ARMS)
Page = Callable[[], Iterable[Widget]]
FIGURES = {arm.id: arm for arm in arm_results()}
SENTENCE = (
    "CPU graph is fastest: 0.48 ms [0.47 0.50]. GPU graph 0.61 ms, 1.27× slower; 71% of it is copying. "
    "GPU overtakes at 18 k samples [15 k 22 k]."
)


def sliders() -> Iterable[Widget]:
    """Return the sliders of the STFT's parameters, with marks, a crossover, a limit and notes, and the device
    slider.
    """
    values = {p.name: p.default for p in DECLARATION.parameters}
    marks = {"samples": (1_000, 10_000, 1_048_576), "frame_length": (256, 512), "dtype": ("float32",)}
    notes = {"samples": "41 kB in, 165 kB out", "frame_length": "39 frames"}
    for p in DECLARATION.parameters:
        if isinstance(p, Boolean):
            continue  # a switch shows this parameter
        limits = reach(p, DECLARATION.constraints, values)
        control = Control(p, p.default, limits, marks.get(p.name, ()), notes.get(p.name, ""))
        if p.name == "samples":
            control = replace(control, crossover=18_300, band=(15_000, 22_000))
        yield Slider(control)
    stops = ("CPU", "both", "GPU:0", "GPU:1")
    yield Slider(Control(Choice(name="device", help="", default="CPU", options=stops), "CPU"))


def answers() -> Iterable[Widget]:
    for verdict in ("confirmed", "refuted", "undecided", "untestable"):
        panel = AnswerPanel()
        panel.show(Said(SENTENCE, "A small STFT runs faster on the CPU.", verdict))
        yield panel
    yield (panel := AnswerPanel())
    panel.show(Said("One graph is 9.4× faster than eager [9.1 9.7]. No GPU is visible (g tells more)."))


def device() -> Iterable[Widget]:
    """Return the device panel of a busy GPU server, with a history."""
    yield VerticalScroll(panel := DevicePanel())
    samples = []
    for step in range(40):
        sample = device_sample()
        gpu = msgspec.structs.replace(sample.gpus[0], use=0.3 + 0.25 * math.sin(step / 4))
        cpu = msgspec.structs.replace(sample.cpu, use=0.5 + 0.4 * math.sin(step / 6))
        samples.append(msgspec.structs.replace(sample, at=float(step), cpu=cpu, gpus=(gpu,)))
    panel.show_samples(samples)


def page(
    make: Callable[..., Widget], fill: Callable[[Any], object] = lambda widget: None, **given: Any
) -> Page:
    def made() -> Iterable[Widget]:
        yield (widget := make(**given))
        fill(widget)

    return made


def live(rounds: int, *, gpu: bool = True, **options: Any) -> Page:
    return plot(live_chart(run_state(rounds, gpu=gpu), figures=FIGURES if gpu else {}, **options))


def plot(chart: Chart) -> Page:
    return page(Plot, lambda widget: widget.show_chart(chart, MARKS))


def without_eager(arm: str) -> bool:
    return "eager" not in arm


PAGES: dict[str, Page] = {
    "sliders": sliders,
    "live": live(73),
    # six arms with similar times, drawn over the ghost of an earlier run
    "close": live(140, shown=without_eager, ghosts=[run_state(110, run="r0", scale=1.08)]),
    "without_gpu": live(12, gpu=False),
    "sweep": plot(sweep_chart(run_result())),
    "nothing": page(Plot, empty="No run yet: press r to measure this scenario, or pick a preset with p."),
    "compare": page(Bars, lambda w: w.show_result(run_result(), MARKS)),
    "compare_log": page(Bars, lambda w: w.show_result(run_result(gpu=False), MARKS), turned=True),
    "phases": page(Phases, lambda w: w.show_arms(run_result().arms, MARKS)),
    "phases_relative": page(Phases, lambda w: w.show_arms(run_result(gpu=False).arms, MARKS), turned=True),
    "numbers": page(Numbers, lambda w: w.update_arms(arm_results(), MARKS)),
    "placement": page(PlacementTable, lambda w: w.set_rows(placement_rows(2_000))),
    "log": page(log_table, lambda w: w.set_rows(log_lines())),
    "answer": answers,
    "heat": page(HeatMap, lambda w: w.show_heat(heat_of(map_result(), ARMS[4].id, ARMS[1].id), MARKS)),
    "timeline": page(Timeline, lambda w: w.show_profile(profile(50_000))),
    "timeline_short": page(Timeline, lambda w: w.show_profile(profile(40))),
    "device": device,
    "device_without_gpu": page(DevicePanel, lambda w: w.show_samples([device_sample(gpu=False, cores=2)])),
}


class Gallery(App[None]):
    CSS = """
    Vertical { height: 1fr; border: round $border-blurred; border-title-color: $text-muted; padding: 0 1; }
    """

    def __init__(self, first: str = "sliders", *, theme: str = DARK.name, ascii_only: bool = False) -> None:
        super().__init__()
        self.first, self.ascii_only = first, ascii_only
        for known in (DARK, LIGHT):
            self.register_theme(known)
        self.theme = theme

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *[ASCII] * self.ascii_only]

    def compose(self) -> ComposeResult:
        yield Vertical()

    async def on_mount(self) -> None:
        await self.show(self.first)

    async def show(self, name: str) -> None:
        """Show the page `name`, and focus its first focusable widget."""
        box = self.query_one(Vertical)
        box.border_title = name.capitalize()
        await box.remove_children()
        await box.mount(*PAGES[name]())
        self.screen.set_focus(None)
        self.action_focus_next()


if __name__ == "__main__":
    Gallery(*sys.argv[1:]).run()
