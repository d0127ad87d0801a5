"""The lab: what measures, keeps, compares and tells, for a screen, a command or a script of one's own."""

import asyncio
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeVar

import msgspec

from tuilab import catalogue
from tuilab.history.lines import RunLine
from tuilab.history.store import Store
from tuilab.lab import roofs
from tuilab.lab.changes import Change
from tuilab.lab.controller import RunController
from tuilab.lab.questions import Questions
from tuilab.lab.recorder import RunRecorder
from tuilab.lab.replay import Replay
from tuilab.lab.replay import load as load_recording
from tuilab.lab.runner import Runner, RunnerFactory
from tuilab.lab.settings import (
    Settings,
    choose,
    choose_own,
    chosen_sweep,
    is_own,
    place_of,
    representative,
)
from tuilab.lab.state import LabState
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.arms import EVERY, HERE
from tuilab.model.claims import Claim
from tuilab.model.doctor import DoctorReport
from tuilab.model.errors import WorkerError
from tuilab.model.events import Event, Finished, Profiled, Refused, WorkerExited
from tuilab.model.explain import ExplainScenario, ScenarioExplanation
from tuilab.model.machine import Machine
from tuilab.model.preset import Preset
from tuilab.model.profile import Profile, ProfileArm
from tuilab.model.requests import Measure
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.model.sanitize import sanitize
from tuilab.model.scenario import BudgetName, Sweep
from tuilab.model.workload import Declaration

if TYPE_CHECKING:
    from tuilab.analysis.compare import Comparison

T = TypeVar("T")
Body = TypeVar("Body", bound=msgspec.Struct)

Listener = Callable[[Change, Event | None], None]
"""Called with what changed, and with the worker's event that did it; null where a person or a replay did."""
What = str | Preset | Settings
"""What to measure: a preset by name or path, `path/to/file.py:name`, a preset, or settings."""


class Lab:
    """One worker (or one on each host), one history, and the state that a screen draws.

        async def main(lab: Lab) -> None:
            result = await lab.measure("stft-small", budget="quick")
            print(result.answer)

        Lab.run(main)

    `async with Lab() as lab` does the same inside a program that has an event loop, such as a notebook. All
    methods belong to that loop. Runs are kept in the history as they grow, as those of the screen are.
    """

    def __init__(
        self,
        *,
        hosts: Sequence[str] = (HERE,),
        runner: RunnerFactory | None = None,
        store: Callable[[], Store] | None = None,
        state: LabState | None = None,
        say: Callable[[str], None] | None = None,
        rerun: bool = True,
    ) -> None:
        """hosts: where to measure, by their names for ssh, "" for this machine. say: told what a person
        should know of the history; else it goes to standard error. runner, store, state: other ones than the
        real ones. rerun: measure again when a slider comes to rest. Raises InputError for what can be no
        host's name.
        """
        self.state = state or LabState()
        self.hosts = tuple(hosts)
        for host in self.hosts:
            if host != HERE:
                self.state.hosts.add(host)
        self._runner = partial(_run_on, self.hosts) if runner is None else runner
        self.controller = RunController(self.state, self._runner, self._told, rerun)
        self.questions = Questions(lambda request: self.runner.send(request))
        self.recorder: RunRecorder | None = None
        self.diagnosis: DoctorReport | None = None
        """What `doctor` found last."""
        self._store, self._say = store, say or _say
        self._listeners: list[Listener] = []
        self._ends: dict[str, asyncio.Future[Finished]] = {}
        self._failed: dict[str, str] = {}
        self._news = asyncio.Event()

    @classmethod
    def run(cls, main: Callable[[Self], Awaitable[T]]) -> T:
        """Open a lab, await `main` with it, close it; returns what `main` returns."""

        async def opened() -> T:
            async with cls() as lab:
                return await main(lab)

        return asyncio.run(opened())

    # Life

    async def __aenter__(self) -> Self:
        recorder = self.open_history()
        # As a screen's, but for whom nobody waits: what is measured when this program is killed is kept.
        self.state.spool, self.state.finish = recorder.spool, False
        for notice in recorder.notices:
            self._say(notice)
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        words = await self.close()
        if words:
            self._say(words)

    async def start(self) -> None:
        """Begin to warm the workers; returns at once. One that cannot be started is told in the state."""
        await self.controller.start()

    def open_history(self) -> RunRecorder:
        """Keep runs from now on, and take in those that went on after their lab had gone."""
        if self.recorder is None:
            store = self._store() if self._store else None
            self.recorder = RunRecorder(self.state, self._say, store)
        return self.recorder

    def load_presets(self, *folders: Path) -> None:
        """Take every preset of these folders, of the usual ones where none is named."""
        self.state.load(catalogue.load(*folders))

    async def close(self) -> str:
        """End the workers and the history; what a person must know of what could not be written.

        A run under way is stopped first, with all that it has measured.
        """
        await self.controller.close()
        if (doctor := sys.modules.get("tuilab.doctor.children")) is not None:
            doctor.kill_all()
        return self.close_history()

    @property
    def unattended(self) -> bool:
        """A run is under way that its worker is to finish, and to keep, after the lab has gone."""
        return bool(self.state.running and self.state.spool and self.state.finish)

    def farewell(self) -> str:
        """Where the run on the screen is kept, and how to come back to it; "" where none is.

        Worked out once the lab is closed, when a run under way has been stopped.
        """
        state = self.state.shown
        recorder = self.recorder
        if recorder is None or not state.rounds or self.state.replay or not recorder.kept(state.run):
            return ""
        comes = "tuilab export last" if state.status == "ok" else "tuilab resume last"
        return f"kept as {state.run[:8]}; {comes}"

    def close_history(self) -> str:
        """Write what waits; what a person must know of what could not be written, "" where all was."""
        return self.recorder.close() if self.recorder is not None else ""

    @property
    def runner(self) -> Runner:
        """What runs the measurements."""
        return self.controller.runner

    @property
    def store(self) -> Store:
        """The history."""
        return self.open_history().store

    # What changes

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` called after every change; returns what ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def changed(self, change: Change) -> None:
        """Somebody changed the state itself, such as which arms are drawn: tell every listener."""
        self._told(change, None)

    def _told(self, change: Change, event: Event | None) -> None:
        if event is not None:
            self.questions.receive(event)
            if self.recorder is not None:
                self.recorder.receive(event)
            self._take(event)
            roofs.learn(event)
        for listener in list(self._listeners):
            listener(change, event)

    def _take(self, event: Event) -> None:
        if isinstance(event, WorkerExited):
            self._failed.setdefault(event.origin, event.message)
        elif isinstance(event, Refused):
            self._failed[event.origin] = event.message
        elif isinstance(event, Finished) and (ended := self._ends.get(event.run)) and not ended.done():
            ended.set_result(event)
        self._news.set()

    async def ready(self) -> Mapping[str, Machine]:
        """Each host's machine, once every worker is ready. Raises WorkerError where one cannot be had."""
        self._failed.clear()
        await self.start()
        if self.state.worker.phase == "down" and HERE in self.hosts:
            raise WorkerError(self.state.worker.message)
        while len(self._failed.keys() | self.runner.machines.keys()) < len(self.hosts):
            self._news.clear()
            await self._news.wait()
        if self._failed:
            raise WorkerError("; ".join(self._failed.values()))
        return {host: self.runner.machines[host] for host in self.hosts}

    # Measuring

    async def settings(self, what: What) -> Settings:
        """What is to be measured. Raises InputError, or Unanswered where a person's own code raises."""
        if isinstance(what, Settings):
            return what
        if isinstance(what, Preset):
            from tuilab.workloads import find

            return replace(Settings.of(what, find(what.workload).declaration), hosts=self.hosts)
        if is_own(what):
            file = place_of(what)
            return choose_own(await self.declare(file), file)
        return choose(what, hosts=self.hosts)

    async def measure(
        self, what: What, *, budget: BudgetName = "standard", cold: bool = False, together: bool = False
    ) -> RunResult:
        """Measure to the end, along the preset's own sweep if it has one.

        cold: rotate inputs beyond the last-level cache. together: a worker for each device, measured one at
        a time and then all at once. The result's status is `cancelled` where `stop` ended it; what was
        measured is in it all the same. Raises InputError, and WorkerError where no worker can be had.
        """
        settings = await self.settings(what)
        return await self._measure(settings, budget, settings.preset.sweep, cold, together)

    async def sweep(
        self,
        what: What,
        axes: Sequence[str] | Sweep = (),
        *,
        budget: BudgetName = "standard",
        cold: bool = False,
        refine: bool = True,
    ) -> RunResult:
        """Measure at many sizes: along `axes` (`samples=256:1M:x4`), else the preset's own or usual ones.

        refine: then look for the size at which another arm wins. Else as `measure`.
        """
        settings = await self.settings(what)
        sweep = axes if isinstance(axes, Sweep) else chosen_sweep(settings, axes, refine)
        return await self._measure(settings, budget, sweep, cold)

    async def _measure(
        self,
        settings: Settings,
        budget: BudgetName,
        sweep: Sweep | None,
        cold: bool,
        together: bool = False,
    ) -> RunResult:
        self.state.change(settings)
        self.changed(Change.SETTINGS)
        await self.ready()
        if together:
            every = tuple("GPU" + EVERY if device == "GPU" else device for device in settings.arms.devices)
            self.state.change(settings.with_arms(devices=every))
        request = self.state.request(budget, sweep, cold=cold)
        if not together:
            return await self.carry_out(request)
        from tuilab.lab.together import doubled, runner_of_each

        request = doubled(request)
        await self._replace(runner_of_each(request, self.runner.machines))
        try:
            self.state.expect(request)
            return await self.carry_out(request)
        finally:
            await self._replace(self._runner)

    async def _replace(self, runner: RunnerFactory) -> None:
        await self.runner.close()
        self.controller.runner = runner(self.controller.receive)
        if runner is not self._runner:
            await self.ready()

    async def carry_out(self, request: Measure, earlier: RunState | None = None) -> RunResult:
        """Measure what was asked for to the end. earlier: of a run in the history that it goes on with.

        Raises WorkerError where it did not begin.
        """
        if earlier is not None:
            self.open_history().go_on(request.id)
            request = msgspec.structs.replace(request, spool=self.state.spool, finish=self.state.finish)
            self.state.expect(request, earlier)
        ended = self._ends[request.id] = asyncio.get_running_loop().create_future()
        try:
            await self.controller.measure(request)
            ending = await ended
        except asyncio.CancelledError:
            await self.runner.cancel(request.id)
            raise
        finally:
            del self._ends[request.id]
        if self.state.shown.run != request.id:
            raise WorkerError(ending.message)
        return self.result()

    async def resume(self, run: str) -> RunResult:
        """Measure what a run of the history is missing, into the same run; on the hosts of this lab.

        Raises InputError where nothing is missing, or the machine or the code is not what it was.
        """
        from tuilab.lab import resume

        earlier = self.kept(run)
        self._claims_of(earlier.preset)
        request = resume.request(earlier)
        resume.check_code(earlier)
        resume.check_same(earlier.machines, await self.ready())
        return await self.carry_out(request, earlier)

    def stop(self) -> bool:
        """Stop what runs or waits to run, keeping what was measured; False where there is nothing."""
        return self.controller.stop()

    def result(self) -> RunResult:
        """What the run that is shown came to, with its placement. Raises ValueError where there is none."""
        from tuilab.analysis.reading import summary_point
        from tuilab.analysis.summary import placement_of

        state = self.state.shown
        result = self.state.result()
        if result is None:
            raise ValueError("there is no run on the screen")
        return msgspec.structs.replace(result, placement=placement_of(state, summary_point(state)))

    # Asking

    async def ask(self, kind: str, body: msgspec.Struct, answer: type[Body]) -> Body:
        """A question to the worker. Raises InputError where it is wrong, else Unanswered."""
        return await self.questions.ask(kind, body, answer)

    async def declare(self, file: str) -> Declaration:
        """What `/path/to/file.py:name` declares.

        Raises InputError, or Unanswered with the traceback of the code that raised.
        """
        return await self.questions.declare(file)

    async def explain(self, settings: Settings) -> ScenarioExplanation:
        """Where each op of the present machine's arms runs, and whether a GPU would run it. Raises as `ask`.

        Asked once the machine is known, about one arm for each device and variant.
        """
        arms = representative(settings, self.state.machine)
        question = ExplainScenario(scenario=settings.scenario, arms=arms)
        return await self.ask("explain-scenario", question, ScenarioExplanation)

    async def profile(self, question: ProfileArm) -> Profile:
        """Profile one arm of the run that is shown; the profile stays with the run. Raises as `ask`."""
        run = self.state.shown.run
        found = await self.ask("profile", question, Profile)
        if run:
            self.controller.receive(Profiled(run=run, arm=question.arm.id, profile=found))
        return found

    async def doctor(self, wait: Callable[[float], None] = lambda seconds: None) -> DoctorReport:
        """Why TensorFlow sees no GPU on this machine; known from then on. Takes at most 30 s.

        wait: told in another thread, where the driver still compiles kernels, how much longer it may take.
        """
        from tuilab.doctor.examine import examine

        # What drivers, files and libraries say of themselves is text from outside.
        self.diagnosis = sanitize(await run_in_daemon_thread(examine, wait=wait))
        return self.diagnosis

    # Earlier runs

    def find(self, start: str) -> RunLine:
        """The run whose id begins so; `last` is the latest. Raises InputError."""
        from tuilab.lab.history import find

        return find(self.store, start)

    def kept(self, start: str) -> RunState:
        """The state of that run. Raises InputError."""
        return self.store.state(self.find(start).run)

    def replay(self, run: str) -> Replay:
        """Show a recorded run as if live: one of the history (`run:ID`) or a file. Raises InputError."""
        replay = load_recording(self.store, run)
        self.controller.replay(replay)
        return replay

    async def show_pinned(self) -> None:
        """Have the runs that are pinned in the history drawn under those of the same workload."""
        from tuilab.lab.history import HistoryClient, ghosts

        client, before = HistoryClient(self.store), self.state.pinned
        try:
            self.state.pinned = await client.do(ghosts)
        except sqlite3.Error as error:
            self.controller.say(f"pinned runs cannot be drawn ({error})", "warning")
        finally:
            client.close()
        if before or self.state.pinned:
            self.changed(Change.LOOK)

    def compare(self, a: str, b: str) -> "Comparison":
        """Two runs arm by arm, at each place that both measured. Raises InputError."""
        from tuilab.analysis.compare import compare

        return compare(self.kept(a), self.kept(b))

    def export(self, run: str, format: Literal["markdown", "html", "csv", "json"] = "markdown") -> str:
        """A run of the history as a document. Raises InputError."""
        from tuilab.lab.results import document_of

        line = self.find(run)
        return "".join(document_of(format, self.store, line.run, self._claims_of(line.preset)))

    def _claims_of(self, preset: str) -> Sequence[Claim]:
        if not self.state.presets:
            self.load_presets()
        return self.state.claims_of(preset)


def _run_on(hosts: Sequence[str], on_event: Callable[[Event], None]) -> Runner:
    from tuilab.runner.multi_host import MultiHostRunner

    return MultiHostRunner(on_event, hosts)


def _say(text: str) -> None:
    sys.stderr.write(f"tuilab: {text}\n")
