"""The page with all machines in the history, by preset."""

import math
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from tuilab.lab.machines import MachineLine, about, text_of
from tuilab.model.machine_summary import Best
from tuilab.report.machines import crossover, fastest, median, verdict_marks
from tuilab.tui.screens.modal import Page, framed
from tuilab.tui.views.filtered import Filtered
from tuilab.tui.widgets.look import MUTED, WARN
from tuilab.tui.widgets.table import Column, Table

if TYPE_CHECKING:
    from tuilab.lab import Lab


def machines_table() -> Table[MachineLine]:
    columns: list[Column[MachineLine]] = [
        Column("preset", lambda line: line.preset, most=24, flex=True),
        Column("with", lambda line: line.differing, most=24, sparse=True),
        Column("machine", lambda line: line.row.summary.machine, most=24),
        Column("CPU", lambda line: median(line.row.summary.on_cpu), align="right",
               key=lambda line: _seconds(line.row.summary.on_cpu)),
        Column("GPU", lambda line: median(line.row.summary.on_gpu), align="right",
               key=lambda line: _seconds(line.row.summary.on_gpu)),
        Column("fastest", lambda line: fastest(line.row.summary), most=22, drop=1),
        Column("crossover", lambda line: crossover(line.row.summary.crossed), align="right", drop=3),
        Column("claims", lambda line: verdict_marks(line.row.summary), drop=2),
        Column("disturbed", lambda line: line.row.summary.disturbed, most=28, sparse=True,
               style=lambda _: WARN),
        Column("≠", lambda line: "≠" if line.disagreements else "", width=1, style=lambda _: WARN),
        Column("TensorFlow", lambda line: line.row.summary.tensorflow, drop=4,
               style=lambda line: WARN if line.row.unlike else MUTED),
    ]  # fmt: skip
    return Table(
        columns,
        detail=about,
        text=lambda line: text_of(line.row.summary),
        noun="line",
        empty="Reading the history…",
    )


def _seconds(best: Best | None) -> float:
    return math.inf if best is None else best.median_s


class MachinesScreen(Page[None]):
    HELP = """\
## Machines compared

Every machine with runs in the history, preset by preset: the fastest arm on the CPU and on the GPU, the size
at which one overtakes the other, and a mark for each claim (✓ ✗ ≈ ?). **≠** marks a preset on which machines
disagree; the last line shows the disagreement. **disturbed** shows why a machine's latest run is doubtful,
such as *busy host*. Different software is highlighted. **{table.filter}** filters, **{table.order}** sorts by
the next column.
"""
    DEFAULT_CSS = """
    MachinesScreen > .frame { width: 96%; height: 94%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,m", "close", "close", show=False, id="machines.close"),
    ]

    def __init__(self, lab: "Lab") -> None:
        super().__init__()
        self._lab = lab
        self.table = machines_table()

    def compose(self) -> ComposeResult:
        with framed(
            Container(),
            "Machines compared",
            "{table.filter} filters, {table.order} sorts, {page.close} closes",
        ):
            yield Filtered("machines", self.table)

    def on_mount(self) -> None:
        self.table.focus()
        self.run_worker(self._load(), exit_on_error=False)

    async def _load(self) -> None:
        found, problem = await self._lab.saved.machines()
        self.table.empty = problem or "No saved run has a result yet."
        self.table.set_rows(found)
