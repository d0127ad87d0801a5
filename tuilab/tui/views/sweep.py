"""Sweep: time against size, and the size at which one arm overtakes another."""

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuilab.lab import Lab
from tuilab.lab.state import LabState
from tuilab.lab.status import why_empty
from tuilab.model.arms import family
from tuilab.model.errors import InputError
from tuilab.model.events import Node, ops_of
from tuilab.model.parameters import LogInteger
from tuilab.model.quantity import seconds, significant, size
from tuilab.model.result import Crossover, RunResult
from tuilab.tui.views.base import View
from tuilab.tui.views.common import folded_result, marks
from tuilab.tui.views.sentences import Sentences
from tuilab.tui.widgets.chart import Chart
from tuilab.tui.widgets.from_run import crossovers, heat_of, sweep_chart
from tuilab.tui.widgets.heatmap import HeatMap
from tuilab.tui.widgets.plot import Plot

PLOT_ROWS = 12
"""What the plot keeps before the sentences get more than one."""


class SweepView(View):
    """Curves over one axis, a map over two, and under them what they say."""

    HELP = """\
## Sweep

Both axes are logarithmic. A point is the median at that size, with its 95 % interval; `┊` is where two arms
cross, found by bisection, with its interval shaded. The slider shows the crossover too.
**← →** (or a click) move along a curve, and the slider moves with you; below are the answer at that size and
where its ops run. The frame has the colour of the CPU or of the GPU, whichever is faster there. **enter**
measures there.
A dashed line is a GPU that is not here, at best, by its data sheet: a bound, not a measurement.
**s** sweeps over the workload's size, or over the axes that the preset names.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "measure_here", "measure here", show=False, id="sweep.measure"),
    ]

    def __init__(self, lab: Lab, id: str | None = None) -> None:
        super().__init__(lab, id)
        self._here: tuple[str, int] | None = None

    def compose(self) -> ComposeResult:
        yield Plot()
        yield HeatMap()
        yield Sentences()

    def draw(self) -> None:
        lab_state = self.lab.state
        plot, heat, sentences = self.query_one(Plot), self.query_one(HeatMap), self.query_one(Sentences)
        result = lab_state.result() if lab_state.shown.sweep else None
        series = marks(lab_state.shown)
        two = result is not None and len(result.axis) == 2
        plot.display, heat.display = not two, two
        if result is None or not result.points:
            plot.empty = why_empty(lab_state)
            if not lab_state.running:
                plot.empty = "No sweep yet. s measures over a range of sizes and looks for the crossover."
            plot.chart = Chart()
            sentences.say(())
            self._frame("")
            return
        if two:
            heat.show_heat(heat_of(result, *pair(result), series, binary=binary_axes(lab_state, result)))
        else:
            # Only what cannot run at all is folded: the others may have figures at another size.
            drawn = folded_result(lab_state, going=True) or result
            plot.chart = sweep_chart(drawn, series, binary=binary_axes(lab_state, result)[0])
        most = max(1, min(4, self.size.height - PLOT_ROWS))
        here = self._said_here(result) if not two else ()
        lines = [c.sentence for c in said(result)]
        if result.sweep_bound is not None and result.roofs:
            lines.insert(1, result.sweep_bound.sentence)
        sentences.say((*here, *lines)[: max(most, len(here))])

    # One surface for slider and curve

    @on(Plot.Pointed)
    def _pointed(self, event: Plot.Pointed) -> None:
        """Going along the curve moves the parameter."""
        event.stop()
        state = self.lab.state
        result = state.result() if state.shown.sweep else None
        if not event.kept or result is None or len(result.axis) != 1:
            return
        self._here = event.key, int(event.x)
        if state.settings is not None:
            try:
                self.lab.controller.set(state.settings.with_value(result.axis[0], int(event.x)), False)
            except InputError as error:
                self.notify(str(error), severity="warning", markup=False)
        self.draw()

    def action_measure_here(self) -> None:
        """Measure at the size under the cursor."""
        if self._here is None:
            raise SkipAction()
        self.lab.controller.run()

    def _frame(self, family: str) -> None:
        """Give the frame the colour of the family of devices that is faster here; "" for its own."""
        for name in ("CPU", "GPU"):
            self.screen.query("#views").set_class(name == family, f"-{name.lower()}")

    def _said_here(self, result: RunResult) -> tuple[str, ...]:
        """What is known at the cursor: who is faster, and on which devices the arm's ops ran."""
        key, x = self._here or ("", 0)
        number = next((i for i, p in enumerate(result.points) if p.values.get(result.axis[0]) == x), None)
        if number is None:
            self._frame("")
            return ()
        sentence, fastest = faster_at(result, number)
        self._frame(fastest)
        known = self.lab.state.shown.arms.get(key)
        nodes = known.placement.get(number, ()) if known else ()
        return (sentence, *lanes(nodes)) if nodes else (sentence,)

    def on_hide(self) -> None:
        self._frame("")


def faster_at(result: RunResult, number: int) -> tuple[str, str]:
    """The sentence of that point of a sweep, and the family of the fastest arm's device."""
    point = result.points[number]
    arms = {arm.id: arm for arm in result.arms}
    timed = sorted((c for c in point.arms if c.median_s is not None), key=lambda c: c.median_s or 0.0)
    name = result.axis[0].replace("_", " ")
    at = f"At {int(point.values[result.axis[0]]):,} {name}"
    if not timed:
        return f"{at} nothing could be measured.", ""
    best = timed[0]
    family_of = {c.id: family(arms[c.id].device or arms[c.id].requested_device) for c in timed}
    other = next((c for c in timed if family_of[c.id] != family_of[best.id]), None)
    label, took = arms[best.id].label, seconds(best.median_s or 0.0)
    if other is None:
        return f"{at} {label} is fastest: {took}.", family_of[best.id]
    ratio = (other.median_s or 0.0) / (best.median_s or 1.0)
    second = (
        f"{arms[other.id].label} takes {seconds(other.median_s or 0.0)}, {significant(ratio, 3)} × as long"
    )
    return f"{at} {label} is fastest: {took}; {second}.", family_of[best.id]


def lanes(nodes: Iterable[Node]) -> tuple[str, ...]:
    """A lane a device with its ops, and the copies between: `CPU:0 ━━ 2 ops ━▶ 1 copy (1.05 MB) ━▶ GPU:0`."""
    ops: Counter[str] = Counter()
    copies: Counter[tuple[str, str]] = Counter()
    moved: Counter[tuple[str, str]] = Counter()
    every = list(nodes)
    for node in ops_of(every):
        ops[node.device] += node.count
    for node in every:
        if node.kind == "copy":
            copies[node.device, node.to] += node.count
            moved[node.device, node.to] += node.bytes
    said = [
        f"{device}  {'━' * min(12, 1 + number)} {number:,} op{'s' * (number != 1)}"
        for device, number in sorted(ops.items())
    ]
    for (begin, end), number in sorted(copies.items()):
        size_of = f", {size(moved[begin, end])}" if moved[begin, end] else ""
        said.append(f"{begin} ─▶ {end}  {number:,} cop{'y' if number == 1 else 'ies'}{size_of}")
    return tuple(said)[:3]


def binary_axes(lab_state: LabState, result: RunResult) -> tuple[bool, bool]:
    """For each axis, whether its values are counted in powers of two."""
    settings = lab_state.settings
    parameters = [settings.declaration.parameter(name) if settings else None for name in result.axis]
    out = [isinstance(p, LogInteger) and p.binary for p in parameters]
    return out[0], out[-1]


def pair(result: RunResult) -> tuple[str, str]:
    """The two arms that a map compares: those of the first crossover looked for, else the first two."""
    for crossover in crossovers(result):
        return crossover.a, crossover.b
    ids = [arm.id for arm in result.arms if arm.median_s is not None] or [arm.id for arm in result.arms]
    return ids[0], ids[min(1, len(ids) - 1)]


def said(result: RunResult) -> list[Crossover]:
    """The crossovers that have something to say, those that were found first."""
    return sorted((c for c in crossovers(result) if c.sentence), key=lambda c: c.at is None)
