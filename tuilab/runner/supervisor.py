"""Keeps one worker warm: sends one request at a time, enforces every stop, and replaces a dead worker."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import msgspec
import psutil

from tuilab.model.events import (
    PROTOCOL,
    Answer,
    ArmStatus,
    Declared,
    Ending,
    Event,
    Finished,
    Hello,
    Log,
    Progress,
    Ready,
    Refused,
    RunStarted,
    TurnOver,
    Warming,
    WorkerExited,
)
from tuilab.model.machine import Machine
from tuilab.model.requests import (
    CONFINE,
    Ask,
    Cancel,
    Declare,
    Measure,
    Painted,
    Request,
    Turn,
    confined_to,
)
from tuilab.runner.forking import Forking
from tuilab.runner.lineup import Further, Lineup
from tuilab.runner.parts import Earlier, following, narrowed, processes
from tuilab.runner.process import Explain, WorkerProcess, contained, local_command

SILENT_S = 5.0
"""Seconds without output after which a worker is reported as silent."""
GROWN = 2**30
"""Number of bytes by which a worker's memory may grow before the worker is replaced."""
CANCEL_GRACE_S = 1.4
"""Seconds between a stop request and TERM. The whole stop, with a later KILL, takes less than 2 s."""

Phase = Literal["down", "starting", "ready", "busy"]
Queued = Measure | Declare | Ask


def memory_of(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


class Supervisor:
    """Owns a worker process, and replaces the process when it ends. All methods run in one event loop.

    on_event: called for every worker event, and for events that the supervisor adds: `Finished` for a run
    whose worker died, `WorkerExited` for each process that ends. command: starts a worker, local by default.
    explain: turns exit code and last output into a sentence. name: the name of a remote worker, for messages.
    forks: True if the next run will fork processes, so that zygotes can start on idle processors while the
    first worker starts.
    """

    def __init__(
        self,
        on_event: Callable[[Event], None],
        command: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        explain: Explain | None = None,
        name: str = "",
        forks: bool = False,
        scope: str = "",
    ) -> None:
        self._on_event = contained(on_event)
        self._name = name
        self._command = list(command) if command else local_command()
        self._env = env
        self._explain = explain
        self._forking = Forking(self._command, env, own=command is None, foreseen=forks)
        self._lineup = Lineup(self._go)
        self._queue: deque[Queued] = deque()
        self._active: Queued | None = None
        self._earlier = Earlier()
        self._cancelling: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._settled = asyncio.Event()
        # ssh does not forward the variable that confines a worker at its start. A remote worker confines
        # itself when a request requires it.
        self._confines = command is None or env is not None
        self._opens = scope
        self.phase: Phase = "down"
        self.machine: Machine | None = None

    @property
    def _process(self) -> WorkerProcess | None:
        return self._lineup.measuring.process

    async def start(self) -> None:
        """Start a worker. Does not wait; a `Ready` event follows. Raises OSError if the worker cannot be
        started.
        """
        if self.phase != "down" or self._closed:
            return
        self.phase = "starting"
        scope = confined_to(self._queue[0]) if self._queue else self._opens
        self._forking.begin()
        zygote, command, inherited = await self._starting()
        if self._closed:
            return
        first = Further(zygote=zygote, scope=scope if self._confines else "")
        self._lineup.measuring = first
        try:
            process = await self._spawn(first, command, inherited)
        except OSError:
            self.phase = "down"
            raise
        if self._closed:
            await process.end()
        else:
            self._spawn_task(self._wait(first, process))

    async def _spawn(
        self, further: Further, command: Sequence[str], inherited: Sequence[int]
    ) -> WorkerProcess:
        heard = partial(self._hear, further)
        env = {**(self._env or {}), CONFINE: further.scope}
        process = await WorkerProcess.spawn(command, heard, env, self._explain, inherited)
        further.process = process
        return process

    async def _wait(self, further: Further, process: WorkerProcess) -> None:
        """Report periodically that a worker has not answered yet, for example over ssh."""
        begun = time.monotonic()
        while True:
            await asyncio.sleep(SILENT_S)
            if self._process is not process or further.heard or not process.alive:
                return
            self._on_event(Warming(stage="waiting for an answer", elapsed_s=time.monotonic() - begun))

    async def _starting(self) -> tuple[int | None, Sequence[str], Sequence[int]]:
        """Return the zygote of the next worker, the command that starts the worker, and the file descriptors
        that it inherits. The command forks the additional processes of a run if possible.
        """
        further = self._queue[0] if self._queue else None
        if not isinstance(further, Measure) or not further.worker or not self._forks(further):
            return None, self._command, ()
        if self._forking.starting:
            self._on_event(Progress(run=further.id, stage="starting more worker processes"))
        if not await self._forking.ready():
            why = "processes could not be forked, so fresh processes are measured instead"
            self._on_event(Log(run=further.id, text=why, level="warning", source="tuilab"))
        return self._forking.command()

    def _forks(self, request: Measure) -> bool:
        return self._forking.forks(request, self.machine)

    async def send(self, request: Request) -> None:
        """Queue a question or a run; forward `Painted` and `Cancel` at once."""
        if isinstance(request, Queued):
            self._queue.append(request)
            active, process = self._active, self._process
            if isinstance(active, Ask) and active.idle and process is not None:
                # An idle question runs only while no other request is pending, so cancel it. It ends within a
                # fraction of a second.
                await process.send(Cancel(id=active.id))
            early = self.phase == "starting" and self._process is not None and self._confines
            if early and confined_to(self._queue[0]) != self._lineup.measuring.scope:
                self._replace()
            self._next()
        elif isinstance(request, Cancel):
            await self.cancel(request.id)
        elif self._process is not None and (not isinstance(request, Painted) or self.phase == "busy"):
            await self._process.send(request)

    async def measure(self, request: Measure) -> None:
        """Queue a run. A budget with several workers uses fresh processes, one after another.

        Arms with TF32 run in separate processes from float32 arms (see `parts`).
        """
        await self.send(request)

    async def renew(self) -> None:
        if self._process is not None and self._process.alive:
            await self._process.end()

    async def cancel(self, run: str) -> None:
        """Stop a run and keep its rounds. If a call does not return, end its process within 2 s.

        `Finished` with status "cancelled" always follows.
        """
        for request in list(self._queue):
            if request.id == run:
                self._queue.remove(request)
                self._on_event(Finished(run=run, status="cancelled", message="stopped before it started"))
        if self._active is None or self._active.id != run or run in self._cancelling:
            return
        process = self._process
        assert process is not None
        self._cancelling.add(run)
        self._settled.clear()
        await process.send(Cancel(id=run))
        try:
            await asyncio.wait_for(self._settled.wait(), CANCEL_GRACE_S)
        except TimeoutError:
            if self._process is process:
                await process.end()

    async def close(self) -> None:
        """End the worker and every process that it started. Stops an active run first, as `cancel` does."""
        self._closed = True
        self._queue.clear()
        if isinstance(self._active, Measure):
            await self.cancel(self._active.id)
        if self._process is not None and self._process.alive:
            await self._process.end()
        await asyncio.gather(*(process.end() for process in self._lineup.clear()))
        await self._forking.close()
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        # Wait for the cancelled tasks, so that the event loop releases a process that was about to start.
        await asyncio.gather(*tasks, return_exceptions=True)

    def kill_now(self) -> None:
        self._closed = True
        for process in (*filter(None, [self._process]), *self._lineup.clear()):
            process.kill_now()
        self._forking.kill_now()

    def _hear(self, further: Further, event: Event) -> None:
        if isinstance(event, Ready) and further.process is not None:
            further.fresh = memory_of(further.process.pid)
        if further is self._lineup.measuring:
            self._receive(event)
        elif isinstance(event, Log):
            self._on_event(event)
        elif further in self._lineup.ahead:
            if isinstance(event, Ready) and further.process is not None and further.request is not None:
                self._spawn_task(further.process.send(further.request))
            self._lineup.note(further, event)

    def _go(self, process: WorkerProcess) -> None:
        if isinstance(self._active, Measure):
            self._spawn_task(process.send(Turn(id=self._active.id)))

    def _release(self) -> None:
        """Forget the active request, and end the processes that were prepared for it."""
        self._active = None
        self._cancelling.clear()
        self._settled.set()
        for process in self._lineup.clear():
            self._spawn_task(process.end())

    def _receive(self, event: Event) -> None:
        measuring = self._lineup.measuring
        measuring.heard = True
        match event:
            case TurnOver() if isinstance(self._active, Measure) and not self._active.turns:
                self._lineup.note(measuring, event)
                return
            case Hello() if event.protocol != PROTOCOL:
                self._refuse(event)
                return
            case Ready() if self._process is not None and self._process.ending:
                return  # the user requested a replacement before this worker was ready
            case Ready():
                # A worker that opens other GPUs for a request sends `Ready` again.
                self.machine, self.phase = event.machine, "busy" if self._active else "ready"
            case WorkerExited():
                self._exited(event)
                return
            case Finished() if self._goes_on(event):
                return
            case RunStarted() if isinstance(self._active, Measure) and event.run == self._active.id:
                if words := self._earlier.begin(event):
                    self._break_off(event.run, words)
                    return
                if self._active.part:
                    return  # only the run's first part reports the start
                event = msgspec.structs.replace(event, arms=self._active.arms)
        active = self._active
        if foreign(event, active):
            return
        self._earlier.note(event)
        self._on_event(event)
        measuring.spoiled |= spoils(event, active)
        if active is not None and ends(event, active):
            swollen = self._swollen()
            self._release()
            self.phase = "ready"
            if measuring.spoiled or swollen:
                self._replace()
        if self.phase == "ready":
            self._next()

    def _break_off(self, run: str, words: str) -> None:
        """Report the run as ended with the message `words`, keep its data, and end its process."""
        self._release()
        self._on_event(Finished(run=run, status="failed", message=words))
        self._replace()

    def _replace(self) -> None:
        """End the worker; `_exited` then starts a new worker."""
        assert self._process is not None
        self.phase, self._process.ending = "busy", True
        self._spawn_task(self._process.end())

    def _goes_on(self, event: Finished) -> bool:
        """If the run continues in a fresh process, prepare that process and return True."""
        active = self._active
        if not isinstance(active, Measure) or event.run != active.id or event.status != "ok":
            return False
        most = active.budget.forks if self._forks(active) else processes(active)
        if self._process is not None:
            self._forking.measured(memory_of(self._process.pid))
        further = following(active, self.machine, most)
        if further is None or active.id in self._cancelling:
            return False
        if further.worker > active.worker and most > processes(active) and self._earlier.suffice(active):
            return False
        if self._lineup.advance():
            self._active = further
            self._on_event(Progress(run=further.id, stage=f"process {further.worker + 1} of {most}"))
            return True
        self._release()
        self._queue.appendleft(further)
        stage = f"starting process {further.worker + 1} of {most}"
        if further.part:
            stage = "starting a separate process for the tf32 arms"
        self._on_event(Progress(run=active.id, stage=stage))
        assert self._process is not None
        self._spawn_task(self._process.end())
        return True

    async def _prepare(self, request: Measure, most: int) -> None:
        """Let the measuring process and up to `most` of the run's next processes build their arms in
        parallel.
        """
        after = active = self._active
        assert isinstance(active, Measure) and isinstance(after, Measure)
        beside: list[Measure] = []
        while len(beside) < most and (further := following(after, self.machine, active.budget.forks)):
            after = further
            beside.append(msgspec.structs.replace(after, settled=request.settled, waits=True))
        first = msgspec.structs.replace(request, waits=True)
        await self._lineup.prepare(first, beside, partial(self._fork, active))

    async def _fork(self, active: Measure, one: Further) -> WorkerProcess | None:
        if self._closed or self._active is not active or one.request is None:
            return None
        one.zygote, command, inherited = self._forking.command()
        one.request = msgspec.structs.replace(one.request, zygote=one.zygote)
        one.scope = self._lineup.measuring.scope
        return await self._spawn(one, command, inherited)

    def _exited(self, event: WorkerExited) -> None:
        active, was, stopped = self._active, self.phase, bool(self._cancelling)
        self._release()
        self._lineup.measuring, self.phase = Further(), "down"
        self._on_event(event)
        if active is not None:
            words = "the call did not return, so its process was ended" if stopped else event.message
            self._on_event(failure(active, words, "cancelled" if stopped else "failed"))
        # A worker that died during startup would probably die again, so report it and wait for a request.
        if not self._closed and was != "starting":
            self._spawn_task(self.start())
        elif self._queue:
            self._fail_queue(event.message)

    def _fail_queue(self, message: str) -> None:
        while self._queue:
            self._on_event(failure(self._queue.popleft(), message))

    def _refuse(self, event: Hello) -> None:
        message = (f"{self._name}: " if self._name else "") + (
            f"the worker of tuilab {event.tuilab} speaks protocol {event.protocol}, but "
            f"this tuilab speaks {PROTOCOL}; install the same version of tuilab on both"
        )
        self._fail_queue(message)
        self._on_event(Refused(request="", message=message))
        assert self._process is not None
        self._spawn_task(self._process.end())

    def _next(self) -> None:
        if self.phase != "ready" or self._active is not None or not self._queue or self._process is None:
            return
        first, measuring = self._queue[0], self._lineup.measuring
        scope = confined_to(first)
        other = bool(measuring.scope) and scope != measuring.scope
        if other and (scope or not isinstance(first, Ask)):
            self._replace()
            return
        if isinstance(first, Measure):
            if first.worker and measuring.request is not None:
                self._replace()  # each additional process must be fresh
                return
            measuring.request = first
        measuring.scope = scope or measuring.scope
        self._active = self._queue.popleft()
        self.phase = "busy"
        self._spawn_task(self._ask(measuring, self._process, narrowed(first, self.machine)))

    async def _ask(self, of: Further, process: WorkerProcess, request: Queued) -> None:
        if isinstance(request, Measure):
            if not request.worker:
                request = await self._forking.first(request, self.machine)
            elif of.zygote is not None:
                # A forked process gets the arms that earlier processes found steady from their first call. On
                # a GPU, where processes are not forked, the clock needs time to settle in each process.
                settled = self._earlier.settled
                request = msgspec.structs.replace(request, zygote=of.zygote, settled=settled)
        await self._forking.quiet()
        if isinstance(request, Measure) and (beside := self._forking.beside(request)):
            await self._prepare(request, beside)
        else:
            await process.send(request)

    def _swollen(self) -> bool:
        """Return True if a run has ended, no request is pending, and the worker's memory has grown by `GROWN`
        since it became ready.

        TensorFlow does not free the memory of earlier runs. A worker with a loaded model is exempt, because
        its model stays loaded on purpose.
        """
        active = self._active
        if not isinstance(active, Measure) or active.scenario.file or self._queue or self._process is None:
            return False
        return memory_of(self._process.pid) > self._lineup.measuring.fresh + GROWN

    def _spawn_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def foreign(event: Event, active: Queued | None) -> bool:
    """Return True if the event belongs to another run than the active request. User code that guesses a run's
    id could send such an event.
    """
    run = getattr(event, "run", "")
    return bool(run) and (active is None or active.id != run)


def spoils(event: Event, active: Queued | None) -> bool:
    """Return True if the event reports an error in user code, which may leave the process in an undefined
    state.
    """
    if isinstance(active, Declare):
        return isinstance(event, Refused) and event.request == active.id
    own = isinstance(active, Measure) and bool(active.scenario.file)
    return own and isinstance(event, ArmStatus) and event.status == "failed"


def ends(event: Event, active: Queued) -> bool:
    """Return True if the event ends the active request."""
    match event:
        case Finished():
            return event.run == active.id
        case Answer():
            return event.request == active.id and not event.more
        case Refused() | Declared():
            return event.request == active.id
    return False


def failure(request: Queued, message: str, status: Ending = "failed") -> Event:
    """Return the event that ends a request for which no worker can answer."""
    if isinstance(request, Measure):
        return Finished(run=request.id, status=status, message=message)
    return Refused(request=request.id, message=message)
