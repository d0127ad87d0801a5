"""Timeline: the ops of profiled calls in time, and what they add up to."""

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuilab.lab import Lab
from tuilab.lab.questions import Unanswered
from tuilab.lab.state import LabState
from tuilab.lab.status import why_empty
from tuilab.model.errors import InputError
from tuilab.model.profile import OpTime, Profile, ProfileArm
from tuilab.model.quantity import seconds
from tuilab.model.run import RunState
from tuilab.tui.views.base import View
from tuilab.tui.views.common import fitting
from tuilab.tui.views.sentences import Sentences
from tuilab.tui.widgets.look import MUTED
from tuilab.tui.widgets.spans import Span
from tuilab.tui.widgets.table import Table
from tuilab.tui.widgets.tabular import Column
from tuilab.tui.widgets.timeline import Timeline

TIMELINE_ROWS = 10
MOST_SPANS = 4_000
"""Of a few calls; they are kept with the run."""
HUES = {
    "compute": "h2",
    "copy": "h1",
    "input": "h4",
    "scheduling": "h7",
    "dispatch": "h0",
    "sync": "h6",
    "python": "h3",
}


class TimelineView(View):
    """One arm at a time, profiled in a pass of its own when the view is first opened after a run."""

    HELP = """\
## Timeline

A few calls of one arm under TensorFlow's profiler, in a separate pass: the profiler slows calls down, so no
figure of the other views comes from here. **v** profiles the next arm, **V** the same one again. Below, the
ops by their time in one call. The profile is kept with the run: a replay shows the arms profiled then.
"""
    DEFAULT_CSS = "TimelineView Table { height: 0; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "profile(1)", "profile the next arm", show=False, id="timeline.arm"),
        Binding("V", "profile(0)", "profile it again", show=False, id="timeline.again"),
    ]

    def __init__(self, lab: Lab, id: str | None = None) -> None:
        super().__init__(lab, id)
        self._arm = ""
        self._picked = False
        self._doing = ""
        self._failed = ""

    def compose(self) -> ComposeResult:
        yield Sentences()
        yield Timeline()
        yield ops_table()

    def draw(self) -> None:
        lab_state = self.lab.state
        state = lab_state.shown
        arms = profilable(state)
        if not self._picked or self._arm not in arms:
            kept = [arm for arm in arms if state.arms[arm].profile is not None]
            arm = fastest(lab_state, kept or arms)
            if arm != self._arm:
                self._arm, self._failed = arm, ""
        known = state.arms[self._arm].profile if self._arm else None
        if known is None and self._arm and not lab_state.running and not self._doing and not self._failed:
            self._profile(self._arm)
        self._show(state, known, lab_state)

    def _show(self, state: RunState, known: Profile | None, lab_state: LabState) -> None:
        timeline, sentences, table = (
            self.query_one(Timeline),
            self.query_one(Sentences),
            self.query_one(Table),
        )
        label = state.arms[self._arm].label if self._arm in state.arms else ""
        timeline.empty = self._why(lab_state, label)
        timeline.show_spans(spans(known) if known else [])
        sentences.say((*summary_sentences(known, label), *known.notes[:1]) if known else ())
        ops = list(known.ops) if known else []
        if list(table.rows) != ops:
            table.set_rows(ops)
        fitting(table, len(ops), self.size.height - TIMELINE_ROWS)

    def _why(self, lab_state: LabState, label: str) -> str:
        if self._doing:
            return f"profiling {label}…"
        if self._failed:
            return f"{label} could not be profiled: {self._failed} v profiles the next arm."
        if lab_state.replay:
            return _replayed(lab_state)
        return (
            why_empty(lab_state)
            if lab_state.running or not lab_state.shown.run
            else "No arm of this run can be profiled."
        )

    @work(exclusive=True, exit_on_error=False)
    async def _profile(self, arm: str) -> None:
        state = self.lab.state.shown
        if state.scenario is None or self.lab.state.replay:
            return
        self._doing, self._failed = arm, ""
        try:
            question = ProfileArm(scenario=state.scenario, arm=state.arms[arm].arm, spans=MOST_SPANS)
            await self.lab.profile(question)
        except (Unanswered, InputError) as error:
            self._failed = str(error)
        finally:
            self._doing = ""
        self.draw()

    def action_profile(self, by: int) -> None:
        """Profile the next arm (1), or the same again (0)."""
        lab_state = self.lab.state
        if self._doing:
            return
        arms = profilable(lab_state.shown)
        if arms:
            at = arms.index(self._arm) if self._arm in arms else -1
            self._arm, self._failed, self._picked = arms[(at + by) % len(arms)], "", True
            if not by and not lab_state.running:
                self._profile(self._arm)
            self.draw()


def _replayed(lab_state: LabState) -> str:
    """Why a replay has none, and what to do for one."""
    machine = lab_state.shown.machine
    where = f" ({machine.host})" if machine else ""
    told = (
        "This arm was not profiled when the run was recorded; to profile it now needs the machine "
        f"of the recording{where}."
    )
    # Where its preset is not here, the settings beside it are not its own.
    own = lab_state.settings is not None and not lab_state.stale
    return f"{told} r measures its settings here; this view can then profile that run." if own else told


def profilable(state: RunState) -> list[str]:
    """The arms that ran."""
    return [arm for arm, known in state.arms.items() if known.status in (None, "ok") and known.cells]


def fastest(lab_state: LabState, arms: list[str]) -> str:
    """The arm to look at first."""
    result = lab_state.result() if lab_state.shown.run else None
    timed = {a.id: a.median_s for a in result.arms if a.median_s is not None} if result else {}
    return min(
        (arm for arm in arms if arm in timed), key=lambda arm: timed[arm], default=arms[0] if arms else ""
    )


def spans(profile: Profile) -> list[Span]:
    """The profile's events as the timeline draws them."""
    lanes = [f"{lane.device} {lane.name}" for lane in profile.lanes]
    return [
        Span(lanes[s.lane], s.name, s.start_s, s.duration_s, s.phase, HUES.get(s.phase, ""))
        for s in profile.spans
    ]


def summary_sentences(profile: Profile, label: str) -> tuple[str, str]:
    """`CPU graph: 0.61 ms a profiled call (0.48 ms without the profiler)`; `compute 44 %, dispatch 38 %`."""
    phases = sorted(profile.phases, key=lambda p: -p.share)
    parts = ", ".join(f"{p.phase} {100 * p.share:.0f} %" for p in phases if p.share >= 0.01)
    without = f" ({seconds(profile.measured_s)} without the profiler)" if profile.measured_s else ""
    return f"{label}: {seconds(profile.step_s)} a profiled call{without}", parts


def ops_table() -> Table[OpTime]:
    """Ops by the time that they take in one call."""
    columns: list[Column[OpTime]] = [
        Column("op", lambda op: op.op, most=24),
        Column("time a call", lambda op: seconds(op.seconds), align="right", key=lambda op: op.seconds),
        Column("runs", lambda op: f"{op.count:g}", align="right", key=lambda op: op.count),
        Column("phase", lambda op: op.phase, drop=2, style=lambda _: MUTED),
        Column("device", lambda op: op.device, drop=1),
        Column("name", lambda op: op.name, flex=True, most=60, style=lambda _: MUTED),
    ]
    return Table(columns, noun="op", empty="")
