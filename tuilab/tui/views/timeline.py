"""The view of the ops in profiled calls, over time and as totals."""

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuilab.model.profile import OpTime
from tuilab.model.quantity import seconds
from tuilab.presentation.timeline import Profiling, summary_lines
from tuilab.tui.screens.menu import MenuScreen
from tuilab.tui.views.base import View, fitting
from tuilab.tui.views.sentences import Sentences
from tuilab.tui.widgets.look import MUTED
from tuilab.tui.widgets.table import Column, Table
from tuilab.tui.widgets.timeline import Timeline

TIMELINE_ROWS = 10


class TimelineView(View):
    """Shows one arm at a time. Profiles this arm in extra calls when the view is first opened after a run."""

    HELP = """\
## Timeline

The timeline shows a few calls of one arm under TensorFlow's profiler. They run in a separate pass, because
the profiler slows calls down; the figures in other views do not come from these calls. It starts with the
fastest GPU arm, if there is one. **{timeline.arm}** profiles the next arm, **{timeline.again}** profiles the
same arm again, **{timeline.pick}** lists all arms. Below are the ops, sorted by their time in one call. The
profile is saved with the run, so a replay can show it.
"""
    DEFAULT_CSS = "TimelineView Table { height: 0; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "profile(1)", "next arm", id="timeline.arm"),
        Binding("P,shift+p", "pick", "pick an arm", id="timeline.pick"),
        Binding("V", "profile(0)", "profile again", show=False, id="timeline.again"),
    ]

    def compose(self) -> ComposeResult:
        self._profiling = Profiling(self.lab)
        yield Sentences()
        yield Timeline()
        yield ops_table()

    def draw(self) -> None:
        profiling = self._profiling
        profiling.look()
        if profiling.due:
            self._profile()
        profile = profiling.profile
        timeline, table = self.query_one(Timeline), self.query_one(Table)
        timeline.empty = profiling.why_none()
        timeline.show_profile(profile)
        self.query_one(Sentences).show(
            summary_lines(profile, profiling.label, profiling.account) if profile else ()
        )
        ops = list(profile.ops) if profile else []
        if list(table.rows) != ops:
            table.set_rows(ops)
        fitting(table, len(ops), self.size.height - TIMELINE_ROWS)

    @work(exclusive=True, exit_on_error=False)
    async def _profile(self) -> None:
        await self._profiling.ask()
        self.draw()

    def action_profile(self, by: int) -> None:
        """Profile the next arm (`by` 1) or the same arm again (`by` 0)."""
        if self._profiling.pick(by):
            if not by:
                self._profile()
            self.draw()

    def action_pick(self) -> None:
        def chosen(arm: str | None) -> None:
            if arm and self._profiling.take(arm):
                self.draw()

        self.app.push_screen(
            MenuScreen("Which arm", self._profiling.offers(), empty=self._profiling.why_none(), find=True),
            chosen,
        )


def ops_table() -> Table[OpTime]:
    columns: list[Column[OpTime]] = [
        Column("op", lambda op: op.op, most=24),
        Column("time a call", lambda op: seconds(op.seconds), align="right", key=lambda op: op.seconds),
        Column("runs", lambda op: f"{op.count:g}", align="right", key=lambda op: op.count),
        Column("phase", lambda op: op.phase, drop=2, style=lambda _: MUTED),
        Column("device", lambda op: op.device, drop=1),
        Column("name", lambda op: op.name, flex=True, most=60, style=lambda _: MUTED),
    ]
    return Table(columns, noun="row", empty="")
