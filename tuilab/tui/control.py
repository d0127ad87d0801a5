"""Joins session, runner and screen: what keys ask for, and when events are drawn."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Literal, Protocol

from tuilab.lab.changes import Change, Wanted, Worker
from tuilab.lab.hosts import EVERYWHERE
from tuilab.lab.replay import Replay, label
from tuilab.lab.runner import Runner, RunnerFactory
from tuilab.lab.settings import Settings
from tuilab.lab.state import LabState
from tuilab.lab.threads import run_in_daemon_thread
from tuilab.model.events import Event, Finished, Log
from tuilab.model.requests import Painted
from tuilab.model.scenario import BudgetName, Sweep
from tuilab.tui.pacing import Pacing

REST_S = 0.1
"""How long a slider must rest before its value is measured."""
LATE_S = 0.5
"""A report that was not painted when it came waits for the next one so much longer than it had to."""
LEAST_S = 0.1
"""Paints for anything but measured rounds are no closer than this."""
TICK_S = 1.0


class Canvas(Protocol):
    """What the control asks of the screen."""

    def draw(self, change: Change) -> None:
        """Show what changed."""

    def sent(self) -> int:
        """Bytes that went to the terminal so far."""

    def after_paint(self, call: Callable[[], None]) -> None:
        """Call back once it is on the terminal."""


class Control:
    """One for the life of the app. All methods belong to the app's event loop."""

    def __init__(self, session: LabState, canvas: Canvas, runner: RunnerFactory, rerun: bool = True) -> None:
        self.session = session
        session.beside = True
        self.rerun = rerun
        self._canvas = canvas
        self.runner: Runner = runner(self.receive)
        self.pacing = Pacing(time.monotonic, canvas.sent)
        self._answer: asyncio.Handle | None = None
        self._late: asyncio.TimerHandle | None = None
        self._dirty = Change.NOTHING
        self._due: asyncio.TimerHandle | asyncio.Handle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._tick: asyncio.TimerHandle | None = None
        self._painted_at = float("-inf")
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: list[tuple[Callable[[Event], None], Event]] = []
        self._sliding = False
        self._dragged = False
        self._playing: asyncio.Future[None] | None = None
        self._closed = False
        self.listeners: list[Callable[[Event], None]] = []

    # Life

    async def start(self) -> None:
        """Begin to warm a worker. A worker that cannot be started is said, and the lab goes on."""
        self.session.worker = Worker(since=self.session.clock())
        self._ticking()
        try:
            await self.runner.start()
        except OSError as error:
            self.session.worker.phase = "down"
            self.session.worker.message = f"the worker could not be started: {error.strerror}"
            self.say(self.session.worker.message, "error")

    def say(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        """A line of the lab's own in the log."""
        self._show(Log(text=text, level=level, source="tuilab"))

    async def close(self) -> None:
        """End the worker."""
        self._closed = True
        if self._playing is not None:
            self._playing.cancel()
        for handle in (self._due, self._rest, self._tick, self._answer, self._late):
            if handle is not None:
                handle.cancel()
        await self.runner.close()

    @property
    def pending(self) -> bool:
        """Something is about to be drawn or measured."""
        return any((self._due, self._rest, self._answer, self._late, self._tasks))

    # Measuring

    def run(
        self, budget: BudgetName | None = None, sweep: Sweep | None = None, *, slid: bool = False
    ) -> bool:
        """Measure the present settings, in place of what runs now; False before a preset is chosen.

        slid: a slider's rest asked for it, so that the next slider may replace it.
        """
        session = self.session
        self._forget_rest()
        if session.settings is None:
            return False
        self._end_replay()
        if session.asked:
            self._spawn(self.runner.cancel(session.asked))
        self._sliding = slid
        if session.machine is None:
            # Which arms there are depends on the devices, which a warming worker does not know yet.
            session.wanted = Wanted(budget, sweep, session.clock())
        else:
            self._spawn(self.runner.measure(session.ask(budget, sweep, slid=slid)))
        if session.worker.phase == "down":
            self._spawn(self.start())
        self._soon(Change.WORKER)
        return True

    def add_host(self, name: str) -> bool:
        """Measure on another host too, from now on; False where it was known. Raises InputError."""
        session = self.session
        new = session.hosts.add(name)
        self.runner.add(name)
        self._spawn(self.runner.start())
        if session.settings is not None and not session.settings.file:
            session.change(session.settings.at_device(EVERYWHERE, tuple(session.hosts.known)))
        self._soon(Change.SETTINGS)
        return new

    def stop(self) -> bool:
        """Stop what runs or waits to run; False where there is nothing."""
        self._forget_rest()
        session = self.session
        if self._end_replay():
            pass
        elif session.wanted is not None:
            session.wanted = None
        elif session.asked:
            self._spawn(self.runner.cancel(session.asked))
        else:
            return False
        self._soon(Change.WORKER)
        return True

    def replay(self, replay: Replay) -> None:
        """Show a recorded run in place of what is on the screen."""
        self.stop()
        started = replay.started
        if started is None:
            return
        self.session.begin_replay(label(started), started)
        self._soon(Change.SETTINGS | Change.WORKER)
        self._playing = asyncio.ensure_future(replay.play(self._show))

    def _end_replay(self) -> bool:
        playing, self._playing = self._playing, None
        if playing is None or playing.done():
            return False
        playing.cancel()
        self._show(Finished(run=self.session.shown.run, status="cancelled", message="the replay was stopped"))
        return True

    def changed(self, settings: Settings, final: bool = True) -> None:
        """Take new settings; measure them when they have rested, where live sliders are on.

        A drag is one change with many that are not final before it.
        """
        dragged, self._dragged = self._dragged, not final
        changed = self.session.change(settings, remember=not dragged)
        if changed:
            self._soon(Change.SETTINGS)
        if final and (changed or dragged):
            self.rested()

    def moved(self, *, now: bool = False, quiet: bool = False) -> None:
        """The session's settings are others already, by an undo or another preset.

        now: measure at once. quiet: do not measure.
        """
        self._soon(Change.SETTINGS)
        if quiet:
            return
        if now and self.rerun:
            sweep = self.session.settings.preset.sweep if self.session.settings else None
            self.run("quick", sweep, slid=True)
        else:
            self.rested()

    def rested(self) -> None:
        """The settings changed: measure them soon, unless a run that a person asked for is under way."""
        self._forget_rest()
        if self.rerun and (not self.session.running or self._sliding):
            loop = asyncio.get_running_loop()
            self._rest = loop.call_later(REST_S, lambda: self.run(slid=True))

    def _forget_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    # Events and paints

    def receive(self, event: Event) -> None:
        """An event of the worker's: fold it in, and draw soon."""
        if self.session.summing:
            self._held.append((self.receive, event))
            return
        self._show(event)
        for listener in list(self.listeners):
            listener(event)
        wanted = self.session.wanted
        if wanted is not None and self.session.machine is not None:
            self.session.wanted = None
            self.run(wanted.budget, wanted.sweep, slid=self._sliding)

    def _show(self, event: Event) -> None:
        if self.session.summing:
            self._held.append((self._show, event))
        else:
            self._soon(self.session.apply(event))

    def _soon(self, change: Change) -> None:
        if self._closed or not change:
            return
        self._dirty |= change
        loop = asyncio.get_running_loop()
        if change & (Change.REPORT | Change.OVER | Change.SETTINGS | Change.FIRST):
            # The worker waits for this paint, or a person does. Events of one write come in one go.
            shown = self.session.shown
            wait = self.pacing.wait(shown.elapsed_s, shown.rounds) if Change.REPORT in change else 0.0
            if wait:
                if self._due is None:
                    self._put_off(wait)
                return
            if isinstance(self._due, asyncio.TimerHandle):
                self._due.cancel()
                self._due = None
            if self._due is None:
                self._due = loop.call_soon(self._paint)
        elif self._due is None:
            wait = max(0.0, self._painted_at + LEAST_S - loop.time())
            self._due = loop.call_later(wait, self._paint)

    def _put_off(self, wait: float) -> None:
        """Leave a report to the paint after the next one; the worker need not wait for that."""
        loop = asyncio.get_running_loop()
        if self._answer is None:
            self._answer = loop.call_soon(self._painted)
        if self._late is None:
            self._late = loop.call_later(wait + LATE_S, self._paint)

    def _paint(self) -> None:
        self._due = None
        if self._late is not None:
            self._late.cancel()
            self._late = None
        if self._dirty & (Change.RUN | Change.REPORT) and not self.session.summing and self.session.long:
            self.session.summing = True
            self._spawn(self._sum_up())
        else:
            self._draw(asyncio.get_running_loop().time())

    async def _sum_up(self) -> None:
        """Sum a long run up in a thread, then paint it. Events wait meanwhile, and with them the worker."""
        begun = asyncio.get_running_loop().time()
        try:
            await run_in_daemon_thread(self.session.sum_up)
        finally:
            self.session.summing = False
        self._draw(begun)
        held, self._held = self._held, []
        for take, event in held:
            take(event)

    def _draw(self, begun: float) -> None:
        if self._closed:
            return
        dirty, self._dirty = self._dirty, Change.NOTHING
        loop = asyncio.get_running_loop()
        self._painted_at = loop.time()
        self._canvas.draw(dirty)
        self._ticking()
        self.pacing.painting(loop.time() - begun)
        self._canvas.after_paint(self._painted)

    def _painted(self) -> None:
        """Tell the worker, which waits for it before it times anything, that the screen is done."""
        self._answer = None
        shown = self.session.shown
        if shown.running and not self.session.replay:
            self._spawn(self.runner.send(Painted(id=shown.run)))

    def _ticking(self) -> None:
        """While something is waited for, count the seconds; a still screen sends nothing.

        In a run the next second may be the first of a wait, so each is looked at; none is painted for that.
        """
        waiting = self.session.waiting or self.session.running or self.session.shown.running
        if waiting and self._tick is None and not self._closed:
            self._tick = asyncio.get_running_loop().call_later(TICK_S, self._ticked)

    def _ticked(self) -> None:
        self._tick = None
        if self.session.waiting:
            self._soon(Change.TICK)
        else:
            self._ticking()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        if self._closed:
            coroutine.close()
            return
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
