"""What a user at the controls asks for, and what the worker's events become. One run at a time."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import Any, Literal

import msgspec

from tuilab.lab import roofs
from tuilab.lab.changes import Change, Wanted, Worker
from tuilab.lab.hosts import EVERYWHERE
from tuilab.lab.replay import Replay, label
from tuilab.lab.runner import Runner, RunnerFactory
from tuilab.lab.settings import Settings
from tuilab.lab.state import LabState, Place
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.events import Event, Finished, Log
from tuilab.model.requests import Measure, Painted
from tuilab.model.rounds import Rounds
from tuilab.model.scenario import BudgetName, Sweep

REST_S = 0.1
"""How long a slider must rest before its value is measured."""

Listener = Callable[[Change, Event | None], None]
"""Called with what changed, and with the worker's event that did it; None if it was a user, a recording
or the lab itself."""


class RunController:
    """The part of a lab that a user at the controls asks: owns the runner, folds its events into the state.

    All methods belong to one event loop.
    """

    def __init__(self, state: LabState, runner: RunnerFactory, rerun: bool = True) -> None:
        self.state = state
        self.rerun = rerun
        """Whether live sliders are on: a slider at rest is measured."""
        self._make_runner = runner
        self._listeners: list[Listener] = []
        self._rest: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: list[tuple[Callable[[Event], None], Event]] = []
        self._sliding = False
        self._dragged = False
        self.replaying: Replay | None = None
        """What is played, with its controls; None once something else is on the screen."""
        self._playing: asyncio.Future[None] | None = None
        self._anew_said = False
        self._closed = False

    @cached_property
    def runner(self) -> Runner:
        """What runs the measurements; made when it is first asked for: commands on the history never do."""
        return self._make_runner(self.receive)

    # Life

    async def start(self) -> None:
        """Begin to warm the workers; returns at once. One that cannot be started is reported in the state."""
        state = self.state
        if state.worker.phase == "down" or not state.worker.since:
            state.worker = Worker(since=state.clock())
        try:
            await self.runner.start()
        except OSError as error:
            state.worker.phase = "down"
            state.worker.message = f"the worker could not be started: {error.strerror}"
            self.log(state.worker.message, "error")

    def log(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        """Write a line of the lab's own into the log."""
        self._show(Log(text=text, level=level, source="tuilab"))

    async def _end(self) -> None:
        """The workers end; a run under way is stopped first, with all that it has measured."""
        self._closed = True
        if self._playing is not None:
            self._playing.cancel()
        self._forget_rest()
        if "runner" in self.__dict__:
            await self.runner.close()

    @property
    def idle(self) -> bool:
        """Nothing is about to be asked of the runner."""
        return self._rest is None and not self._tasks

    # What changes

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` called after every change; returns what ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def _told(self, change: Change, event: Event | None = None) -> None:
        for listener in list(self._listeners):
            listener(change, event)

    # Measuring

    def _measure_now(
        self,
        budget: BudgetName | None = None,
        sweep: Sweep | None = None,
        *,
        slid: bool = False,
        further: Measure | None = None,
    ) -> bool:
        """Measure the present settings, in place of what runs now; False before a preset is chosen.

        slid: a slider's rest asked for it, so that the next slider may replace it. further: what continues
        the run on the screen instead.
        """
        state = self.state
        self._forget_rest()
        if state.settings is None:
            return False
        self._end_replay()
        if state.asked:
            self._spawn(self.runner.cancel(state.asked))
        self._sliding = slid
        if further is not None:
            state.expect(further)
            self._spawn(self._queue(further))
        elif state.machine is None:
            # Which arms there are depends on the devices, which a warming worker does not know yet.
            state.wanted = Wanted(budget, sweep, state.clock())
        else:
            self._spawn(self._queue(state.request(budget, sweep, slid=slid)))
        if state.worker.phase == "down":
            self._spawn(self.start())
        self._told(Change.WORKER)
        return True

    async def _queue(self, request: Measure) -> None:
        """A run is queued, with what is known of the machines' roofs."""
        await self.runner.measure(msgspec.structs.replace(request, roofs=roofs.known()))

    def add_host(self, name: str, environment: str = "") -> bool:
        """Measure on another host too, from now on; False if it was known. Raises InputError.

        environment: of this machine, as a user names it; the runner must know it.
        """
        state = self.state
        new = state.hosts.add(name, environment)
        self.runner.add(name)
        self._spawn(self.runner.start())
        if state.settings is not None and (known := state.hosts.reach(state.settings.file)):
            state.change(state.settings.at_device(EVERYWHERE, known, state.hosts.environments))
        self._told(Change.SETTINGS)
        return new

    def stop(self) -> bool:
        """Stop what runs or waits to run, keeping what was measured; False if there is nothing."""
        self._forget_rest()
        state = self.state
        if self._end_replay():
            pass
        elif state.wanted is not None:
            state.wanted = None
        elif state.asked:
            self._spawn(self.runner.cancel(state.asked))
        else:
            return False
        self._told(Change.WORKER)
        return True

    def _replay(self, replay: Replay) -> None:
        """A recorded run takes the place of what is on the screen."""
        self.stop()
        started = replay.started
        if started is None:
            return
        self.state.begin_replay(label(started), started)
        self.replaying, self._anew_said = replay, False
        self._told(Change.SETTINGS | Change.WORKER)
        self._playing = asyncio.ensure_future(
            replay.play(self._show, self.state.rewind, lambda: not self.state.summing, self._take)
        )

    def play(self, do: Callable[[Replay], None]) -> bool:
        """Pause, step, seek or change the speed of what is played; False if nothing is."""
        if self.replaying is None:
            return False
        do(self.replaying)
        self._told(Change.WORKER)
        return True

    def spare_replay(self) -> bool:
        """Return whether what would measure in place of a replay must be asked for a second time."""
        spared = bool(self.state.replay) and not self._anew_said
        self._anew_said = True
        return spared

    def _end_replay(self) -> bool:
        playing, self._playing, self.replaying = self._playing, None, None
        if playing is None:
            return False
        playing.cancel()
        if self.state.shown.running:
            ending = Finished(run=self.state.shown.run, status="cancelled", message="the replay was stopped")
            self._show(ending)
        return True

    def painted(self) -> None:
        """Tell the worker, which waits for it before it times anything, that the screen is done."""
        shown = self.state.shown
        if shown.running and not self.state.replay:
            self._spawn(self.runner.send(Painted(id=shown.run)))

    # Settings

    def go_back(self, place: Place) -> None:
        """Be where the user was before other presets were measured; what is measured now ends."""
        if self.state.settings != place.settings:
            self.stop()
        if self.state.go_back(place):
            self._told(Change.FIGURES | Change.WORKER)

    def set(self, settings: Settings, final: bool = True) -> None:
        """Take new settings; measure them when they have rested, where live sliders are on.

        A drag is one change with many that are not final before it.
        """
        dragged, self._dragged = self._dragged, not final
        changed = self.state.change(settings, remember=not dragged)
        if changed:
            self._told(Change.SETTINGS)
        if final and (changed or dragged):
            self._rested()

    def _moved(self, *, now: bool = False, quiet: bool = False) -> None:
        """The state has other settings already, by an undo or another preset.

        now: measure at once. quiet: do not measure.
        """
        self._told(Change.SETTINGS)
        if quiet:
            return
        if now and self.rerun:
            sweep = self.state.settings.preset.sweep if self.state.settings else None
            self._measure_now(self.state.budget, sweep, slid=True)
        else:
            self._rested()

    def _rested(self) -> None:
        """The settings changed: measure them soon, unless a run that a user asked for is under way."""
        self._forget_rest()
        if self.state.replay:
            return  # Only who asks for it measures in place of a replay.
        if self.rerun and (not self.state.running or self._sliding):
            loop = asyncio.get_running_loop()
            self._rest = loop.call_later(REST_S, lambda: self._measure_now(slid=True))

    def _forget_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    # Events

    def receive(self, event: Event) -> None:
        """Fold in an event of the worker's, and tell what it changed."""
        if self.state.summing:
            self._held.append((self.receive, event))
            return
        self._told(self.state.apply(event), event)
        wanted = self.state.wanted
        if wanted is not None and self.state.machine is not None:
            self.state.wanted = None
            self._measure_now(wanted.budget, wanted.sweep, slid=self._sliding)

    def _show(self, event: Event) -> None:
        """An event that is none of the worker's."""
        if self.state.summing:
            self._held.append((self._show, event))
        else:
            self._told(self.state.apply(event))

    def _take(self, rounds: Rounds) -> None:
        """Many rounds of a replay, which asks first whether a summary is being worked out."""
        self._told(self.state.take(rounds))

    async def sum_up(self, then: Callable[[], None]) -> None:
        """Sum a long run up in a thread; events wait meanwhile, and with them the worker.

        then: called before those that waited are let in.
        """
        self.state.summing = True
        try:
            await run_in_daemon_thread(self.state.sum_up)
        finally:
            self.state.summing = False
        then()
        held, self._held = self._held, []
        for take, event in held:
            take(event)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        if self._closed:
            coroutine.close()
            return
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
