"""The lab: measures, saves, compares and reports, for a screen, a command or a script."""

import asyncio
import contextlib
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import msgspec

from tuilab import catalogue, guest
from tuilab.interpreter import environments
from tuilab.lab import resume, roofs
from tuilab.lab.changes import Change
from tuilab.lab.controller import RunController
from tuilab.lab.devices import Devices
from tuilab.lab.files import remember_environment
from tuilab.lab.hosts import checked_hosts
from tuilab.lab.naming import resolve
from tuilab.lab.presets import preset_of
from tuilab.lab.questions import Questions
from tuilab.lab.replay import Replay
from tuilab.lab.runner import Runner, RunnerFactory
from tuilab.lab.saved import SavedRuns, StoreFactory
from tuilab.lab.settings import Own, Settings, choose, chosen_sweep, representative
from tuilab.lab.state import LabState
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.arms import EVERY, HERE
from tuilab.model.doctor import DoctorReport
from tuilab.model.environment import Environment
from tuilab.model.errors import InputError, WorkerError
from tuilab.model.events import (
    Event,
    Finished,
    Profiled,
    Progress,
    Refused,
    RoofsKnown,
    WorkerExited,
)
from tuilab.model.explain import ExplainScenario, ScenarioExplanation
from tuilab.model.machine import Machine
from tuilab.model.parameters import Value
from tuilab.model.preset import Preset
from tuilab.model.profile import Profile, ProfileArm
from tuilab.model.program import Page
from tuilab.model.requests import Measure
from tuilab.model.result import RunResult
from tuilab.model.roofline import ROOFS_S, AskRoofs, Roofs
from tuilab.model.run import RunState
from tuilab.model.sanitize import sanitize
from tuilab.model.scenario import AS_IT_IS, BUDGETS, BudgetName, Opening, Sweep
from tuilab.model.subject import PresetFile, Subject

if TYPE_CHECKING:
    from tuilab.lab.history import History

T = TypeVar("T")
Body = TypeVar("Body", bound=msgspec.Struct)

What = str | Preset | Settings
"""The subject of a measurement: a preset's name or path, `path/to/file.py:name`, a preset, or settings."""


class Lab(RunController):
    """One worker (or one per host), one history, and the state that a screen draws.

        async def main(lab: Lab) -> None:
            result = await lab.measure("stft-small", budget="quick")
            print(result.answer)

        Lab.run(main)

    `async with Lab() as lab` does the same inside a program that has an event loop, such as a notebook. Call
    all methods in the same event loop. Runs are saved in the history while they are measured, as on the
    screen.
    """

    def __init__(
        self,
        *,
        hosts: Sequence[str] = (HERE,),
        environments: Sequence[Environment] = (),
        runner: RunnerFactory | None = None,
        store: StoreFactory | None = None,
        state: LabState | None = None,
        say: Callable[[str], None] | None = None,
        rerun: bool = True,
        forks: bool = False,
        scope: str = "",
    ) -> None:
        """hosts: the hosts to measure on, by ssh or environment name; "" for this machine. environments:
        other Python environments on this machine; an environment without a name replaces the lab's own
        environment. say: called with messages about the history; by default they go to standard error.
        runner: creates the runner; None for real workers. store: opens the history; None for the user's own
        history. state: the initial state. rerun: measure again when a slider comes to rest. forks: prepare
        forked processes for the next run (`Budget.forks`). scope: the files that the first worker may open
        (`tuilab.model.requests.scope`); "" for no restriction. Raises InputError for an invalid host name.
        """
        self.hosts, self.environments = tuple(dict.fromkeys(hosts)), {one.name: one for one in environments}
        usual = partial(_run_on, self.hosts, self.environments, forks, scope)
        super().__init__(state or LabState(), usual if runner is None else runner, rerun)
        for host in self.hosts:
            if host != HERE:
                self.state.hosts.add(host)
        self.questions = Questions(lambda request: self.runner.send(request))
        self._say = say or _say
        self.saved = SavedRuns(self.state, self._say, store)
        self.diagnosis: DoctorReport | None = None
        self.devices = Devices()
        self._ends: dict[str, asyncio.Future[Finished]] = {}
        self._failed: dict[str, str] = {}
        self._news = asyncio.Event()

    @classmethod
    def run(cls, main: Callable[[Self], Awaitable[T]]) -> T:
        """Open a lab, await `main(lab)`, and close the lab. Returns the result of `main`."""

        async def opened() -> T:
            async with cls() as lab:
                return await main(lab)

        return asyncio.run(opened())

    # Start and end

    async def __aenter__(self) -> Self:
        for notice in self.saved.keep(finish=False):
            self._say(notice)
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        words = await self.close()
        if words:
            self._say(words)

    def load_presets(self, *folders: Path, found: catalogue.Catalogue | None = None) -> None:
        """Load the presets from these folders, or from the default ones. found: a catalogue that was already
        read, used instead of any folder.
        """
        self.state.presets.load(found or catalogue.load(*folders))

    def open_first(self, name: str) -> str:
        """Open the preset with this name or at this path, or else the first preset. Does not measure.

        Returns why the requested preset could not be opened; "" if it was opened or `name` is "".
        """
        state, wrong = self.state, ""
        try:
            if isinstance(subject := resolve(name), PresetFile):
                state.presets.add(preset := preset_of(name, subject))
                name = preset.name
        except InputError as error:
            wrong = str(error)
        first = state.presets.find(name)
        if name and first is None and not wrong:
            wrong = f"There is no preset {name!r}; the list shows the available presets."
        if first is not None or state.presets.all:
            state.choose(first or state.presets.all[0])
        return wrong

    async def close(self) -> str:
        """Stop the active run, and close the workers and the history. Returns a message about data that could
        not be written.
        """
        await self._end()
        self.devices.close()
        if (doctor := sys.modules.get("tuilab.doctor.children")) is not None:
            doctor.kill_all()
        return self.saved.close()

    def kill_now(self) -> None:
        self.runner.kill_now()

    @property
    def history(self) -> "History":
        return self.saved.history

    async def add_environment(self, word: str) -> str:
        """Add a Python environment on this machine (`NAME=PATH[,VARIABLE=VALUE…]`) to the measured
        environments, and save its definition.

        Returns the environment's name. Raises InputError.
        """
        (one,) = await run_in_daemon_thread(environments, [word])
        known = self.state.hosts.known.get(one.name)
        if known is not None and not known.environment:
            raise InputError("environment", one.name, "a name not used by another machine")
        if self.environments.get(one.name, one) != one:
            raise InputError("environment", one.name, "a name not used by another environment")
        self.environments[one.name] = one
        self.add_host(one.name, word)
        remember_environment(word)
        return one.name

    # Changes

    def changed(self, change: Change) -> None:
        """Notify all listeners of a change that no event caused, such as a new choice of drawn arms."""
        self._notify(change)

    def receive(self, event: Event) -> None:
        """Apply a worker's event. When a run ends, first add the range of results of similar runs, because
        the run's summary needs this range.
        """
        if alike := self.saved.alike(event):
            super().receive(alike)
        super().receive(event)
        if isinstance(event, Finished) and event.roofs_due:
            self._spawn(self._measure_roofs(event.run))

    async def _measure_roofs(self, run: str) -> None:
        """Measure the machine's roofs (hardware limits) while no other request is pending, and save the roofs
        with the run.
        """
        # If another request interrupts this measurement, the roofs are measured after the next run instead.
        with contextlib.suppress(InputError, WorkerError):
            found = await self.questions.ask("roofs", AskRoofs(seconds=ROOFS_S), Roofs, idle=True)
            self.receive(RoofsKnown(run=run, roofs=found))
            self.saved.conclude(run)

    def _notify(self, change: Change, event: Event | None = None) -> None:
        if event is not None:
            self.questions.receive(event)
            self.saved.receive(event)
            self._note(event)
            roofs.learn(event)
        super()._notify(change, event)

    def _note(self, event: Event) -> None:
        if isinstance(event, WorkerExited):
            self._failed.setdefault(event.origin, event.message)
        elif isinstance(event, Refused):
            self._failed[event.origin] = event.message
        elif isinstance(event, Finished) and (ended := self._ends.get(event.run)) and not ended.done():
            ended.set_result(event)
        self._news.set()

    async def ready(self) -> Mapping[str, Machine]:
        """Wait until all workers are ready. Returns the machine of each host. Raises WorkerError if a host is
        unavailable.
        """
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
        """Return the settings for a subject. Raises InputError, or Unanswered if the user's code raises an
        error.
        """
        if isinstance(what, Settings):
            return what
        preset, own = (what, None) if isinstance(what, Preset) else await self.find(what, resolve(what))
        return replace(choose(preset, own), hosts=self.hosts)

    async def find(
        self,
        words: str,
        subject: Subject,
        opening: Opening = AS_IT_IS,
        heard: Callable[[Progress], None] | None = None,
    ) -> tuple[Preset, Own | None]:
        """Return a subject's preset. For the user's own code, also return its declaration and file.

        words: the subject as the user typed it. heard: called with the progress of loading a large model.
        Raises InputError, or Unanswered with the traceback of the user's code.
        """
        if not subject.place:
            return preset_of(words, subject), None
        checked_hosts([host for host in self.hosts if host not in self.environments], subject.place)
        own = Own(await self.questions.declare(subject.place, opening, heard), subject.place, opening)
        return own.preset, own

    async def measure(
        self, what: What, *, budget: BudgetName = "standard", cold: bool = False, together: bool = False
    ) -> RunResult:
        """Measure a subject, along the preset's own sweep if it has one, and return the finished run's
        result. After `stop`, the result has status `cancelled` and the data so far.

        cold: rotate through inputs that together exceed the last-level cache. together: use one worker per
        device; first measure each device alone, and then all devices at once. Raises InputError, or
        WorkerError if no worker is available.
        """
        settings = await self.settings(what)
        return await self._measure(settings, budget, settings.preset.sweep, cold, together)

    async def watch(self, command: Sequence[str], *, once: bool = False) -> Page:
        """Watch a program (`["train.py", "--epochs", "3"]`) until it ends. The program's output appears as
        usual.

        once: profile a single window, as early as possible. Raises InputError if the program cannot be
        started.
        """
        with tempfile.TemporaryDirectory(prefix="tuilab-") as folder:
            file = Path(folder, "page.json")
            words = ["watch", "--plain", *(["--once"] if once else []), "--json", str(file)]
            words += ["--output", str(Path(folder, "page.txt")), "--", *command]
            process = await asyncio.create_subprocess_exec(*guest.command("tuilab", *words))
            await process.wait()
            if not file.exists():
                raise InputError("watch", " ".join(command), "an executable program")
            return msgspec.json.decode(file.read_bytes(), type=Page)

    async def sweep(
        self,
        what: What,
        axes: Sequence[str] | Sweep = (),
        *,
        budget: BudgetName = "standard",
        cold: bool = False,
        refine: bool = True,
    ) -> RunResult:
        """Measure a subject at many sizes: along `axes` (`samples=256:1M:x4`), or else along the preset's own
        sweep, or else along the default sweep.

        refine: search for the crossover afterwards. `measure` describes the other arguments and the errors.
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
            await self._replace(self._make_runner)

    async def _replace(self, runner: RunnerFactory) -> None:
        await self.runner.close()
        self.runner = runner(self.receive)
        if runner is not self._make_runner:
            await self.ready()

    async def carry_out(self, request: Measure, earlier: RunState | None = None) -> RunResult:
        """Carry out a request and return the finished run's result. earlier: the saved run to continue.

        Raises WorkerError if the run did not start.
        """
        if earlier is not None:
            request = self.saved.extend(request)
            self.state.expect(request, earlier)
        ended = self._ends[request.id] = asyncio.get_running_loop().create_future()
        try:
            await self._queue(request)
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
        """Measure the missing part of a saved run on this lab's hosts, and add the new data to that run.

        Raises InputError if nothing is missing, or if the machine or the code has changed.
        """
        earlier = self.history.state(run)
        if not self.state.presets.all:  # the result of the run needs the preset's claims
            self.load_presets()
        request = resume.request(earlier)
        self.history.check_ended(earlier.run)
        resume.check_code(earlier)
        resume.check_same(earlier.machines, await self.ready())
        return await self.carry_out(request, earlier)

    # Controls. Each returns before its request is carried out; listeners are notified afterwards.

    def begin(self, budget: BudgetName | None = None, sweep: Sweep | None = None) -> bool:
        """Measure the current settings, replacing the active run. Returns False if no preset is chosen.

        Continues a finished run of the same settings if this run did not reach its target precision.
        """
        further = self.state.further(budget) if sweep is None else None
        if further is not None and not self.saved.go_on(further):
            further = None
        return self._measure_now(budget, sweep, further=further)

    def undo(self) -> bool:
        return self._gone(self.state.undo())

    def redo(self) -> bool:
        return self._gone(self.state.redo())

    def _gone(self, changed: bool) -> bool:
        if changed:
            self._moved()
        return changed

    def restore(self) -> None:
        if (settings := self.state.settings) is not None:
            self.set(settings.as_declared)

    def next_budget(self) -> None:
        self.state.budget = BUDGETS[(BUDGETS.index(self.state.budget) + 1) % len(BUDGETS)]

    def open(self, preset: Preset) -> None:
        """Choose a preset. With live sliders, also measure it."""
        self.state.choose(preset)
        self._moved(now=True)

    def present(self, preset: Preset, sizes: Mapping[str, Value] = MappingProxyType({})) -> None:
        """Choose a preset without measuring it, and clear the screen.

        sizes: parameter values, adjusted to the preset's limits.
        """
        self.stop()
        self.state.put_away()
        self.state.choose(preset)
        if sizes and self.state.settings is not None:
            self.state.change(self.state.settings.near(sizes))
        self._moved(quiet=True)

    def add_preset(self, preset: Preset, own: Own | None = None) -> None:
        self.state.presets.add(preset, own)

    def keep_secret(self, kept: bool) -> None:
        """kept: True to hide all verdicts while the user guesses, False to show them again."""
        self.state.guessing = kept
        self.changed(Change.SETTINGS)

    def result(self) -> RunResult:
        """Return the result of the run on the screen. Raises ValueError if there is no run."""
        return self.state.whole_result()

    # Asking

    async def explain(self, settings: Settings) -> ScenarioExplanation:
        """Explain, for one arm per device and variant on this machine, which device runs each op and whether
        a GPU could run the op.

        Waits until the machine is known. Raises the errors of `Questions.ask`.
        """
        arms = representative(settings, self.state.machine)
        question = ExplainScenario(scenario=settings.scenario, arms=arms)
        return await self.questions.ask("explain-scenario", question, ScenarioExplanation)

    async def profile(self, question: ProfileArm) -> Profile:
        """Profile an arm of the run on the screen and save the profile with the run. Raises the errors of
        `Questions.ask`.
        """
        run = self.state.shown.run
        found = await self.questions.ask("profile", question, Profile)
        if run:
            self.receive(Profiled(run=run, arm=question.arm.id, profile=found))
        return found

    async def doctor(self, wait: Callable[[float], None] = lambda seconds: None) -> DoctorReport:
        """Find out why TensorFlow sees no GPU on this machine. Saves and returns the report.

        Takes at most 30 s. wait: called in another thread with a number of extra seconds if the driver must
        first compile kernels.
        """
        from tuilab.doctor.examine import examine

        # Sanitize the report: text from drivers, files and libraries is untrusted.
        self.diagnosis = sanitize(await run_in_daemon_thread(examine, wait=wait))
        return self.diagnosis

    # Earlier runs

    async def replay(self, run: str) -> Replay:
        """Replay a recorded run, from the history (`run:ID`) or from a file. Raises InputError."""
        replay = await self.saved.load(run)
        self.stop()
        self.playback.begin(replay)
        return replay

    async def show_pinned(self) -> None:
        """Draw pinned runs of the same workload as ghosts."""
        try:
            if await self.saved.load_pinned():
                self.changed(Change.LOOK)
        except sqlite3.Error as error:
            self.log(f"pinned runs cannot be drawn ({error})", "warning")


def _run_on(
    hosts: Sequence[str],
    environments: Mapping[str, Environment],
    forks: bool,
    scope: str,
    on_event: Callable[[Event], None],
) -> Runner:
    from tuilab.runner.host_runner import supervise
    from tuilab.runner.multi_host import MultiHostRunner

    start = partial(supervise, environments=environments, forks=forks, scope=scope)
    return MultiHostRunner(on_event, hosts, start, here=lambda host: host == HERE or host in environments)


def _say(text: str) -> None:
    sys.stderr.write(f"tuilab: {text}\n")
