"""The lab's state, which the screens show: presets, settings, worker, runs."""

import contextlib
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from tuilab.analysis.reading import summary_point
from tuilab.lab import resume
from tuilab.lab.changes import Change, Wanted, Worker
from tuilab.lab.command_line import command_line
from tuilab.lab.ghosts import Ghosts
from tuilab.lab.hosts import Hosts
from tuilab.lab.presets import Presets
from tuilab.lab.settings import Settings, default_sweep
from tuilab.model.claims import Claim, VerdictWord
from tuilab.model.errors import InputError
from tuilab.model.events import (
    ArmStatus,
    Event,
    Finished,
    FirstCalls,
    Hello,
    Log,
    Progress,
    Ready,
    Refused,
    Round,
    RunStarted,
    Warming,
    WorkerExited,
)
from tuilab.model.machine import Machine
from tuilab.model.preset import Preset
from tuilab.model.quantity import rough
from tuilab.model.requests import Measure
from tuilab.model.result import Crossover, RunResult
from tuilab.model.rounds import Rounds
from tuilab.model.run import RunState
from tuilab.model.sanitize import sanitize_block
from tuilab.model.scenario import BUDGET, IMPORT_S, BudgetName, Sweep
from tuilab.runner.turns import budget_of

MOST_UNDO = 200
SLID = msgspec.structs.replace(BUDGET["quick"], warm_s=0.05, warm_limit_s=0.3, limit_s=4.0)
"""Budget of a run started by a resting slider. It is short, because the user is waiting and the worker is
warm.
"""
MOST_LOG = 100_000
LONG_S = 2.0
"""Seconds of waiting after which the screen shows the elapsed time."""
LONG = 50_000
"""Number of samples above which a run is summarized in a thread."""


@dataclass(frozen=True)
class Stage:
    what: tuple[object, ...] = ()
    """Identifies the activity. Two events of the same activity have equal values."""
    since: float = 0.0

    def then(self, state: RunState, now: float) -> "Stage":
        """Return the stage after an event: this object if the activity has not changed."""
        what = _what(state)
        return self if what == self.what else Stage(what, now)


def _what(state: RunState) -> tuple[object, ...]:
    progress = state.progress
    if progress is None:
        return state.run, state.status, state.rounds
    # A stage that counts seconds is redrawn when the count changes. A stage that counts items is redrawn only
    # when the stage changes.
    moved = progress.done if progress.unit == "s" else None
    return state.run, progress.stage, progress.arm, moved


@dataclass(frozen=True)
class Place:
    """The settings and the run from before the user measured other presets, to return to them afterwards."""

    settings: Settings | None
    past: tuple[Settings, ...]
    shown: RunState
    replay: str


@dataclass
class LabState:
    clock: Callable[[], float] = time.monotonic
    """Returns the current monotonic time in seconds. The lab's `since` and `_at` fields contain times of this
    clock.
    """
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex
    presets: Presets = field(default_factory=Presets)
    spool: str = ""
    """Folder in which a worker saves a run until the history contains the run; "" if there is no folder."""
    background: dict[str, str] = field(default_factory=dict)
    """Runs that continue without their lab: path of the file with the run's events, by run id."""
    from_background: str = ""
    """Preset of the last run that finished in the background; "" once this lab has started a run."""
    unkept: str = ""
    """Why runs are not in the history, and where their data is; "" if every run is saved."""
    finish: bool = True
    """Whether the worker finishes an active run after the lab has ended."""
    paced: bool = False
    """True if a screen shows the run, so that the worker waits after each report until the screen has
    painted, and the screen calls `sum_up` in a thread for a run that is `long`.
    """
    settings: Settings | None = None
    """Settings of the next run; None until a preset is chosen."""
    past: list[Settings] = field(default_factory=list)
    """Earlier settings for undo, latest last."""
    future: list[Settings] = field(default_factory=list)
    """Undone settings for redo, latest last."""
    budget: BudgetName = "quick"
    worker: Worker = field(default_factory=Worker)
    import_s: float = IMPORT_S
    """Seconds that a fresh worker needs to import TensorFlow: measured with the last worker, or a typical
    value.
    """
    machine: Machine | None = None
    hosts: Hosts = field(default_factory=Hosts)
    shown: RunState = field(default_factory=RunState)
    stage: Stage = field(default_factory=Stage)
    sized: Stage = field(default_factory=Stage)
    """The size that a sweep is measuring, and the start time of its measurement."""
    asked: str = ""
    """Id of the requested run that has not ended; "" if there is none."""
    asked_at: float = 0.0
    wanted: Wanted | None = None
    ghosts: Ghosts = field(default_factory=Ghosts)
    verdicts: dict[str, VerdictWord] = field(default_factory=dict)
    """Verdicts on the presets' claims, by preset name. Only runs with a preset's original settings count."""
    log: list[Log] = field(default_factory=list)
    guessing: bool = False
    """True while the demo asks for a guess. Verdicts are hidden until the demo reveals the result."""
    replay: str = ""
    """Label of the replay on the screen; "" for a live run."""
    replay_continues: bool = False
    """True if the replay has shown the whole run, and the run was stopped and is in the history. The user can
    then continue the run.
    """
    summing: bool = False
    """True while `sum_up` runs in a thread. Meanwhile, no event may be applied."""
    _pending: dict[str, RunState] = field(default_factory=dict)
    _results: dict[tuple[str, int], RunResult | None] = field(default_factory=dict)

    # Presets and settings

    def choose(self, preset: Preset) -> None:
        self.replay = ""
        settings = self.presets.settings(preset)
        self.change(settings.where(self.settings, self.hosts.environments))

    def change(self, settings: Settings, *, remember: bool = True) -> bool:
        """Apply new settings and save the old ones for undo. Returns False if the settings are the same."""
        if settings == self.settings:
            return False
        if self.settings is not None and remember:
            self.past = [*self.past[-MOST_UNDO:], self.settings]
        self.future.clear()
        self.settings = settings
        return True

    def undo(self) -> bool:
        return self._go(self.past, self.future)

    def redo(self) -> bool:
        return self._go(self.future, self.past)

    def _go(self, to: list[Settings], back: list[Settings]) -> bool:
        if not to or self.settings is None:
            return False
        back.append(self.settings)
        self.settings = to.pop()
        return True

    @property
    def cost(self) -> str:
        """Budget and estimated duration of a run with these settings, such as `quick, about 9 s`."""
        budget, settings = BUDGET[self.budget], self.settings
        asked = settings.arms_on(self.machine) if settings else ()
        # an arm on a device that the machine lacks ends immediately, so it costs nothing
        here_too = {device.name for device in self.machine.devices} if self.machine else set()
        arms = max(1, sum(not here_too or arm.device in here_too for arm in asked))
        sweeps = settings is not None and settings.preset.sweep is not None
        if sweeps or (self.running and self.shown.sweep is not None):
            return f"{budget.name}, ± {100 * budget.precision:.0f}%"
        here = {"", *self.hosts.environments}.intersection(settings.hosts) if settings else set()
        if len(here) > 1:  # the hosts take turns, so their times add up
            budget = budget_of(budget)
        forked = len(here) < 2 and self.machine is not None and not self.machine.gpus
        how_long = max(1, len(here)) * budget.expected_s(arms, self.import_s, forked)
        return f"{budget.name}, about {rough(how_long)}"

    # Runs

    @property
    def running(self) -> bool:
        return bool(self.asked) or self.wanted is not None

    @property
    def in_processes(self) -> bool:
        """True while the current settings are measured in several processes, one after another."""
        shown, settings = self.shown, self.settings
        if self.replay or settings is None or self.asked != shown.run:
            return False
        if shown.status is not None:  # a resumed run, before its next process starts
            return True
        budget, same = shown.budget, settings.scenario == shown.scenario and shown.sweep is None
        if budget is None or not same or settings.preset.name != shown.preset:
            return False
        return budget.most_processes > 1 and budget.precision == BUDGET[self.budget].precision

    @property
    def waiting(self) -> bool:
        """True if the current activity reports no progress, so that the screen shows only the elapsed
        seconds.
        """
        if self.replay:
            return False
        starting = self.worker.phase == "starting" or self.wanted is not None
        begun = self.asked == self.shown.run and self.shown.rounds
        return starting or bool(self.asked and not begun) or self.held_s > 0

    @property
    def held_s(self) -> float:
        """Seconds that the run on the screen has spent in its current activity; 0 during the first `LONG_S`
        seconds, and during a replay.
        """
        held = self.clock() - self.stage.since
        return held if self.shown.running and not self.replay and held >= LONG_S else 0.0

    def request(
        self,
        budget: BudgetName | None = None,
        sweep: Sweep | None = None,
        *,
        slid: bool = False,
        cold: bool = False,
    ) -> Measure:
        """Return the request for the current settings. Requires a chosen preset.

        slid: True if a slider that came to rest requested the run.
        """
        settings = self.settings
        assert settings is not None
        devices = settings.devices(self.machine, self.hosts.machines)
        request = settings.request(devices, budget or self.budget, sweep, cold=cold, id=self.new_id())
        if slid and budget is None and sweep is None:
            request = msgspec.structs.replace(request, budget=SLID)
        request = self.kept(request)
        self.expect(request)
        return request

    def kept(self, request: Measure) -> Measure:
        """Return the request with the lab's settings for saving the run and for waiting for the screen."""
        return msgspec.structs.replace(request, pace=self.paced, spool=self.spool, finish=self.finish)

    def further(self, budget: BudgetName | None = None) -> Measure | None:
        """Return the request that completes the stopped run on the screen, or adds processes to a finished
        run that did not reach the budget's precision.

        Returns None if nothing is missing, or if the settings, the machine or the code differ from the run's.
        """
        shown, settings, machine = self.shown, self.settings, self.machine
        if self.running or settings is None or machine is None or shown.machine is None:
            return None
        if self.replay and not self.replay_continues:
            return None
        result = self.result()
        sure = result.confidence if result is not None else None
        if resume.is_interrupted(shown):
            found = resume.stopped(shown)
        else:
            found = resume.further(shown, sure.half_width if sure else None, BUDGET[budget or self.budget])
        if found is None or settings.scenario != shown.scenario or settings.preset.name != shown.preset:
            return None
        devices = settings.devices(machine, self.hosts.machines)
        arms = settings.request(devices, budget or self.budget).arms
        same_arms = bool(self.replay) or set(shown.arms) == {arm.id for arm in arms}
        if not same_arms or machine.key != shown.machine.key:
            return None
        try:
            resume.check_code(shown)
            resume.check_same(shown.machines, {"": machine})
        except InputError:
            return None
        return self.kept(found)

    def expect(self, request: Measure, earlier: RunState | None = None) -> None:
        """Prepare for the events of the requested run. earlier: state of the run that the request
        continues.
        """
        self.replay = ""
        if request.id != self.shown.run:
            self._pending[request.id] = earlier or RunState()
        self.asked, self.asked_at = request.id, self.clock()

    def command(self, sweeping: bool = False) -> str:
        """Return the command line that repeats the measurement on the screen. Requires a chosen preset."""
        assert self.settings is not None
        sweep = (self.shown.sweep or default_sweep(self.settings)) if sweeping else None
        named = {name: host.environment for name, host in self.hosts.known.items() if host.environment}
        return command_line(self.settings, self.budget, sweep, named)

    def put_away(self) -> None:
        self._show(RunState())

    def begin_replay(self, label: str, started: RunStarted) -> None:
        """Show the next events as a replay with this label. If the lab knows the run's preset, also apply the
        run's settings.
        """
        preset = self.presets.find(started.preset)
        if preset is not None and preset.workload == started.scenario.workload:
            self.choose(preset)
            assert self.settings is not None
            with contextlib.suppress(InputError):
                self.settings = self.settings.with_values(started.scenario.parameters)
        self.replay, self.replay_continues = label, False

    def rewind(self) -> None:
        """Clear the screen, before a replay starts again."""
        self.shown, self.stage = RunState(), Stage()

    @property
    def emulated(self) -> frozenset[str]:
        """Names of the presets whose verdicts rely on this machine's emulated GPU."""
        if self.machine is None or not self.machine.emulated:
            return frozenset()
        return frozenset(p.name for p in self.presets.all if any(claim.about_gpu for claim in p.claims))

    @property
    def place(self) -> Place:
        return Place(self.settings, tuple(self.past), self.shown, self.replay)

    def go_back(self, place: Place) -> bool:
        """Restore the settings of a place, and the run of the place if this run has ended. Returns False if
        the settings are already the current ones.
        """
        if place.settings is None or place.settings == self.settings:
            return False
        self.settings, self.past, self.replay = place.settings, [*place.past], place.replay
        self.future.clear()
        self._show(RunState() if place.shown.running else place.shown)
        self.stage = Stage()
        return True

    @property
    def replay_is_here(self) -> bool:
        """True if the current settings belong to the preset of the replay."""
        return self.settings is not None and self.settings.preset.name == self.shown.preset

    @property
    def title(self) -> str:
        """The title of the open preset; for a replay of anything else, the name of the replayed run."""
        run = self.shown
        if self.replay and run.scenario is not None and not self.replay_is_here:
            return run.preset or run.scenario.workload
        return self.settings.title if self.settings is not None else ""

    @property
    def stale(self) -> bool:
        """True if the current settings differ from those of the run on the screen."""
        if self.settings is None or self.shown.scenario is None:
            return False
        return self.settings.scenario != self.shown.scenario

    @property
    def undecided(self) -> str:
        """Why the run on the screen cannot decide its preset's claims; "" if it can."""
        if self.guessing and not self.running:
            return "guess first"
        if self.guessing or self.shown.running:
            return "decided when the run ends"
        if self.stale or (self.settings is not None and not self.settings.original):
            return "not the document's"
        return ""

    @property
    def point(self) -> int:
        """Index of the point whose figures the screen shows: in a sweep, the point nearest to the
        settings.
        """
        return summary_point(self.shown) if self.shown.run else 0

    def result(self) -> RunResult | None:
        """Return the result of the run on the screen, without placement rows. Cached until the run changes.

        While a thread summarizes a long run, returns the previous result.
        """
        state = self.shown
        if not state.run:
            return None
        if (state.run, state.version) in self._results:
            return self._results[state.run, state.version]
        if self.summing or (self.paced and self.long):
            return next((kept for (run, _), kept in self._results.items() if run == state.run), None)
        return self.sum_up()

    def whole_result(self) -> RunResult:
        """Return the result of the run on the screen, with placement rows. Raises ValueError if there is no
        run.
        """
        from tuilab.analysis.summary import placement_of

        result = self.result()
        if result is None:
            raise ValueError("no run is open")
        return msgspec.structs.replace(result, placement=placement_of(self.shown, self.point))

    @property
    def crossover(self) -> Crossover | None:
        """The first crossover that the sweep on the screen has found at the current value of its second axis.
        None if the sweep has found none, or measures a preset other than the current one.
        """
        result = self.result() if self.shown.sweep else None
        if result is None or self.settings is None or self.settings.preset.name != result.preset:
            return None
        values = self.settings.values
        here = [c for c in result.crossovers if all(values.get(name) == c.where[name] for name in c.where)]
        return next((c for c in here if c.at is not None), None)

    def sum_up(self) -> RunResult | None:
        """Compute the result of the run on the screen. A thread may call this method if no event is applied
        meanwhile.
        """
        from tuilab.analysis.summary import summarise

        state = self.shown
        key = state.run, state.version
        try:
            found = summarise(state, self.claims_of(state.preset), placement=False)
        except Exception as error:
            # A bug in the summary must not stop the measurement. The bug is reported, and the samples are
            # still shown.
            found = None
            self._say(f"the summary failed: {type(error).__name__}: {error}", "error")
        self._results = {key: found}
        return found

    @property
    def long(self) -> bool:
        """True if the run is active and computing its summary would noticeably delay a key press."""
        state = self.shown
        if not state.running or (state.run, state.version) in self._results:
            return False
        return sum(len(cell.samples) for arm in state.arms.values() for cell in arm.cells.values()) > LONG

    def claims_of(self, name: str) -> tuple[Claim, ...]:
        if self.settings is not None and self.settings.preset.name == name:
            return self.settings.preset.claims
        preset = self.presets.find(name)
        return preset.claims if preset is not None else ()

    # Events

    def apply(self, event: Event) -> Change:
        """Apply an event. Returns the parts of the state that changed."""
        if getattr(event, "origin", ""):
            self.log += self.hosts.apply(event)
            return Change.SETTINGS | Change.LOG
        match event:
            case Hello():
                self._stage("starting", "starting Python", pid=event.pid)
            case Warming():
                self._stage("starting", event.stage, since=self.clock() - event.elapsed_s)
            case Ready():
                self.machine = event.machine
                self.import_s = event.import_s or self.import_s
                self._stage("ready", "ready")
            case WorkerExited():
                self._exited(event)
                self._say(event.message, "info" if event.expected else "error")
                return Change.WORKER | Change.LOG
            case Refused():
                self._say(event.message, "error")
                return Change.LOG
            case Log():
                return self._log(event)
            case _:
                return self._run(event)
        return Change.WORKER

    def take(self, rounds: Rounds) -> Change:
        """Apply many rounds of the run on the screen at once. Returns the parts of the state that changed."""
        state = self.shown
        first = Change.NOTHING if state.rounds else Change.FIRST
        state.take(rounds)
        self.stage = self.stage.then(state, self.clock())
        return Change.RUN | Change.REPORT | first

    def _stage(self, phase: str, stage: str, since: float | None = None, pid: int = 0) -> None:
        worker = self.worker
        if since is None:
            since = worker.since if worker.stage == stage else self.clock()
        self.worker = Worker(phase, stage, since, pid or worker.pid)

    def _exited(self, event: WorkerExited) -> None:
        """Record that a worker has exited. The supervisor starts a fresh worker, unless the old worker died
        before it was ready.
        """
        again = event.expected or self.worker.phase != "starting"
        self._stage("starting" if again else "down", "starting a fresh worker")
        if not event.expected:
            self.worker.message = event.message
        if not again:
            self.wanted = None

    def _say(self, text: str, level: Literal["info", "warning", "error"]) -> None:
        self.log.append(Log(text=text, level=level, source="tuilab"))

    def _trace(self, detail: str) -> None:
        for line in sanitize_block(detail).splitlines():
            self._say(line, "error")

    def _log(self, event: Log) -> Change:
        self.log.append(event)
        if len(self.log) > MOST_LOG:
            del self.log[: MOST_LOG // 10]
        for state in (self.shown, *self._pending.values()):
            state.apply(event)
        return Change.LOG

    def _run(self, event: Event) -> Change:
        identity = getattr(event, "run", "")
        if isinstance(event, RunStarted) and identity != self.shown.run:
            self._show(self._pending.pop(identity, RunState()))
        state = self.shown if identity == self.shown.run or isinstance(event, RunStarted) else None
        if state is None:
            return self._elsewhere(identity, event)
        state.apply(event)
        self.stage = self.stage.then(state, self.clock())
        if state.sweep is not None and (size := (state.run, sizes_begun(state))) != self.sized.what:
            self.sized = Stage(size, self.clock())
        match event:
            case ArmStatus(detail=str(detail)) if detail:
                self._trace(detail)
            case Finished():
                self._trace(event.detail)
                return self._over(event)
            case Round():
                return Change.RUN | Change.REPORT | (Change.FIRST if state.rounds == 1 else Change.NOTHING)
            case FirstCalls():
                return Change.RUN | (Change.FIRST if _first_called(state) else Change.NOTHING)
            case Progress():
                return Change.PROGRESS
        return Change.RUN

    def _elsewhere(self, identity: str, event: Event) -> Change:
        """Apply an event of a run that is not on the screen. Only the end of such a run matters."""
        if not isinstance(event, Finished):
            return Change.NOTHING
        self._pending.pop(identity, None)
        if event.status == "failed" and event.message:
            self._say(event.message, "error")
            self.worker.message = event.message
        return self._over(event)

    def _over(self, event: Finished) -> Change:
        if event.run == self.asked:
            self.asked = ""
        settings = self.settings
        if event.run == self.shown.run and event.status == "ok" and settings is not None:
            same = settings.preset.name == self.shown.preset and settings.original and not self.stale
            result = self.result() if same else None
            if result is not None and result.claims:
                self.verdicts[self.shown.preset] = overall([c.verdict for c in result.claims])
        return Change.RUN | Change.OVER

    def _show(self, state: RunState) -> None:
        self.ghosts.keep(self.shown)
        self.shown = state


def sizes_begun(state: RunState) -> int:
    """Return the number of sweep sizes that the latest process has begun to measure; at least 1."""
    return max(1, min(len(sizes_to_measure(state)), len(state.process_begun)))


def sizes_to_measure(state: RunState) -> Sequence[int]:
    """Return the indices of the sizes that the latest process measures. A process that resumes a run measures
    only the remaining sizes.
    """
    return state.process_points or range(len(state.points))


def _first_called(state: RunState) -> bool:
    """Return True if the run has no rounds yet and has made exactly one first call."""
    called = (cell for arm in state.arms.values() for cell in arm.cells.values() if cell.first_s is not None)
    return not state.rounds and sum(1 for _ in called) == 1


def overall(verdicts: list[VerdictWord]) -> VerdictWord:
    order: tuple[VerdictWord, ...] = ("refuted", "impossible", "undecided", "confirmed", "untestable")
    return min(verdicts, key=order.index)
