"""Handles the user's input and the worker's events. Runs one measurement at a time."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import Any, Literal

import msgspec

from tuilab.lab import roofs
from tuilab.lab.changes import Change, Wanted, Worker
from tuilab.lab.hosts import EVERYWHERE
from tuilab.lab.painting import Painting
from tuilab.lab.playback import Playback
from tuilab.lab.runner import Runner, RunnerFactory
from tuilab.lab.settings import Settings
from tuilab.lab.state import LabState, Place
from tuilab.model.events import Event, Log
from tuilab.model.requests import Measure
from tuilab.model.scenario import BudgetName, Sweep

REST_S = 0.1
"""Seconds for which a slider must rest before its value is measured."""

Listener = Callable[[Change, Event | None], None]
"""Called with a change and the worker's event that caused the change. The event is None if the user, a
recording or the lab itself caused the change.
"""


class RunController:
    """Handles the user's requests: owns the runner, and applies the runner's events to the lab's state.

    All methods run in one event loop.
    """

    def __init__(self, state: LabState, runner: RunnerFactory, rerun: bool = True) -> None:
        self.state = state
        self.rerun = rerun
        """True if a slider that comes to rest starts a measurement."""
        self._make_runner = runner
        self._listeners: list[Listener] = []
        self._rest: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._sliding = False
        self._dragged = False
        self.painting = Painting(state, lambda painted: self._spawn(self.runner.send(painted)))
        self.playback = Playback(state, self._show, self._notify)
        self._closed = False

    @cached_property
    def runner(self) -> Runner:
        return self._make_runner(self.receive)

    # Start and end

    async def start(self) -> None:
        """Start the workers. Does not wait; failures are recorded in the state."""
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
        self._show(Log(text=text, level=level, source="tuilab"))

    async def _end(self) -> None:
        self._closed = True
        self.playback.close()
        self._forget_rest()
        if "runner" in self.__dict__:
            await self.runner.close()

    @property
    def idle(self) -> bool:
        """True if no request is waiting to be sent to the runner."""
        return self._rest is None and not self._tasks

    # Changes and their listeners

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every change. Returns a function that unsubscribes the listener."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def _notify(self, change: Change, event: Event | None = None) -> None:
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
        """Replace the active run with a measurement of the current settings. Returns False if no preset is
        chosen.

        slid: True if a slider that came to rest requested the run; a later move of a slider may then replace
        the run. further: request that continues the run on the screen; None to start a new run.
        """
        state = self.state
        self._forget_rest()
        if state.settings is None:
            return False
        self.playback.end()
        if state.asked:
            self._spawn(self.runner.cancel(state.asked))
        self._sliding = slid
        if further is not None:
            state.expect(further)
            self._spawn(self._queue(further))
        elif state.machine is None:
            # The arms depend on the devices, which are unknown until the worker is ready.
            state.wanted = Wanted(budget, sweep, state.clock())
        else:
            self._spawn(self._queue(state.request(budget, sweep, slid=slid)))
        if state.worker.phase == "down":
            self._spawn(self.start())
        self._notify(Change.WORKER)
        return True

    async def _queue(self, request: Measure) -> None:
        """Queue a run with the known roofs (hardware limits) of the machines.

        For a run in one process on this machine, a lab with a screen measures unknown roofs only after the
        run, so that the user does not wait for them.
        """
        later = self.state.paced and request.budget.workers == 1 and not any(a.host for a in request.arms)
        await self.runner.measure(msgspec.structs.replace(request, roofs=roofs.known(), roofs_later=later))

    def add_host(self, name: str, environment: str = "") -> bool:
        """Add a host to all later measurements. Returns False if the host was already added. Raises
        InputError.

        environment: definition of a Python environment on this machine, as the user typed it; "" for a
        machine. The environment must already be registered with the runner.
        """
        state = self.state
        new = state.hosts.add(name, environment)
        self.runner.add(name)
        self._spawn(self.runner.start())
        if state.settings is not None and (known := state.hosts.reach(state.settings.file)):
            state.change(state.settings.at_device(EVERYWHERE, known, state.hosts.environments))
        self._notify(Change.SETTINGS)
        return new

    def stop(self) -> bool:
        """Stop the active or pending run and keep its data; return False if there is none."""
        self._forget_rest()
        state = self.state
        if self.playback.end():
            pass
        elif state.wanted is not None:
            state.wanted = None
        elif state.asked:
            self._spawn(self.runner.cancel(state.asked))
        else:
            return False
        self._notify(Change.WORKER)
        return True

    # Settings

    def go_back(self, place: Place) -> None:
        """Stop the active run, and restore the settings and the run from before the user measured other
        presets.
        """
        if self.state.settings != place.settings:
            self.stop()
        if self.state.go_back(place):
            self._notify(Change.FIGURES | Change.WORKER)

    def set(self, settings: Settings, final: bool = True) -> None:
        """Apply new settings. With live sliders, measure them after `REST_S` seconds without a change.

        final: False while the user drags a slider.
        """
        dragged, self._dragged = self._dragged, not final
        changed = self.state.change(settings, remember=not dragged)
        if changed:
            self._notify(Change.SETTINGS)
        if final and (changed or dragged):
            self._rested()

    def _moved(self, *, now: bool = False, quiet: bool = False) -> None:
        """Redraw after an undo, a redo or the choice of another preset. With live sliders, also measure.

        now: measure without waiting `REST_S` seconds. quiet: do not measure.
        """
        self._notify(Change.SETTINGS)
        if quiet:
            return
        if now and self.rerun:
            sweep = self.state.settings.preset.sweep if self.state.settings else None
            self._measure_now(self.state.budget, sweep, slid=True)
        else:
            self._rested()

    def _rested(self) -> None:
        """Measure the changed settings after `REST_S` seconds, unless the user explicitly started the active
        run.
        """
        self._forget_rest()
        if self.state.replay:
            return  # a slider may not replace a replay; only an explicit request may
        if self.rerun and (not self.state.running or self._sliding):
            loop = asyncio.get_running_loop()
            self._rest = loop.call_later(REST_S, lambda: self._measure_now(slid=True))

    def _forget_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    # Events

    def receive(self, event: Event) -> None:
        if self.painting.hold(self.receive, event):
            return
        self._notify(self.state.apply(event), event)
        wanted = self.state.wanted
        if wanted is not None and self.state.machine is not None:
            self.state.wanted = None
            self._measure_now(wanted.budget, wanted.sweep, slid=self._sliding)

    def _show(self, event: Event) -> None:
        if not self.painting.hold(self._show, event):
            self._notify(self.state.apply(event))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        if self._closed:
            coroutine.close()
            return
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
