"""Keeps one worker warm: sends one request at a time, enforces every stop, and replaces a dead worker."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import msgspec
import psutil

from tuilab.analysis.processes import estimate_of
from tuilab.model.arms import Arm
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
    Round,
    RunStarted,
    TurnOver,
    WarmedUp,
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
from tuilab.model.run import RunState
from tuilab.model.scenario import FORKED_CHASE_S
from tuilab.runner.lineup import Further, Lineup
from tuilab.runner.process import Explain, WorkerProcess, contained, local_command
from tuilab.runner.zygotes import COUNT, EACH, Zygotes, idle_processors, no_gpu_in_sight, possible, wanted

BESIDE = 4
"""Maximum number of forked processes to prepare in parallel."""
SILENT_S = 5.0
"""Seconds without output after which a worker is reported as silent."""
GROWN = 2**30
"""Number of bytes by which a worker's memory may grow before the worker is replaced."""
CANCEL_GRACE_S = 1.4
"""Seconds between a stop request and TERM. The whole stop, with a later KILL, takes less than 2 s."""

Phase = Literal["down", "starting", "ready", "busy"]
_QUEUED = (Measure, Declare, Ask)


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
        self._lineup = Lineup(self._go)
        self._queue: deque[Measure | Declare | Ask] = deque()
        self._active: Measure | Declare | Ask | None = None
        self._cancelling: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._code: tuple[str, dict[str, str]] = ("", {})
        self._spoilt = self._measured = self._heard = False
        self._settled = asyncio.Event()
        # Only workers in the lab's own Python can be forked.
        self._zygotes = None if command else Zygotes(env)
        self._zygote: int | None = None
        self._largest = EACH
        """Memory in bytes of the largest process that has measured."""
        self._fresh = 0
        """The worker's memory in bytes when it became ready."""
        self._foreseen = forks
        # ssh does not forward the variable that confines a worker at its start. A remote worker confines
        # itself when a request requires it.
        self._confines = command is None or env is not None
        self._held = ""
        self._opens = scope
        self._samples = RunState()
        self._at_once: tuple[str, set[str]] = ("", set())
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
        self.phase, self._heard = "starting", False
        scope = confined_to(self._queue[0]) if self._queue else self._opens
        self._held = scope if self._confines else ""
        if self._foreseen and self._zygotes is not None and no_gpu_in_sight() and possible():
            self._zygotes.begin(idle_processors())
        command, inherited = await self._starting()
        if self._closed:
            return
        self._lineup.measuring = first = Further()
        try:
            process = await self._spawn(first, command, inherited)
        except OSError:
            self.phase = "down"
            raise
        if self._closed:
            await process.end()
        else:
            self._spawn_task(self._wait(process))

    async def _spawn(
        self, further: Further, command: Sequence[str], inherited: Sequence[int]
    ) -> WorkerProcess:
        heard = partial(self._hear, further)
        env = {**(self._env or {}), CONFINE: self._held}
        process = await WorkerProcess.spawn(command, heard, env, self._explain, inherited)
        further.process = process
        return process

    async def _wait(self, process: WorkerProcess) -> None:
        """Report periodically that a worker has not answered yet, for example over ssh."""
        begun = time.monotonic()
        while True:
            await asyncio.sleep(SILENT_S)
            if self._process is not process or self._heard or not process.alive:
                return
            self._on_event(Warming(stage="waiting for an answer", elapsed_s=time.monotonic() - begun))

    async def _starting(self) -> tuple[Sequence[str], Sequence[int]]:
        """Return the command for the next worker and the file descriptors that the worker inherits.

        The command forks the additional processes of a run if possible.
        """
        self._zygote = None
        further = self._queue[0] if self._queue else None
        if not isinstance(further, Measure) or not further.worker or not self._forks(further):
            return self._command, ()
        assert self._zygotes is not None
        if len(self._zygotes.pids) < COUNT:
            stage = "starting more worker processes"
            self._on_event(Progress(run=further.id, stage=stage))
        if not await self._zygotes.ready():
            why = "processes could not be forked, so fresh processes are measured instead"
            self._on_event(Log(run=further.id, text=why, level="warning", source="tuilab"))
            self._zygotes = None
            return self._command, ()
        self._zygote, command, descriptor = self._zygotes.command(self._command)
        return command, (descriptor,)

    def _forks(self, request: Measure) -> bool:
        # Other environments always use fresh processes, so a run that also measures in them uses fresh
        # processes here.
        return self._zygotes is not None and not request.turns and wanted(request, self.machine)

    async def send(self, request: Request) -> None:
        """Queue a question or a run; forward `Painted` and `Cancel` at once."""
        if isinstance(request, _QUEUED):
            self._queue.append(request)
            active, process = self._active, self._process
            if isinstance(active, Ask) and active.idle and process is not None:
                # An idle question runs only while no other request is pending, so cancel it. It ends within a
                # fraction of a second.
                await process.send(Cancel(id=active.id))
            early = self.phase == "starting" and self._process is not None and self._confines
            if early and confined_to(self._queue[0]) != self._held:
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
        if self._zygotes is not None:
            await self._zygotes.close()
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        # Wait for the cancelled tasks, so that the event loop releases a process that was about to start.
        await asyncio.gather(*tasks, return_exceptions=True)

    def kill_now(self) -> None:
        self._closed = True
        for process in (*filter(None, [self._process]), *self._lineup.clear()):
            process.kill_now()
        if self._zygotes is not None:
            self._zygotes.kill_now()

    def _hear(self, further: Further, event: Event) -> None:
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
        self._heard = True
        match event:
            case TurnOver() if isinstance(self._active, Measure) and not self._active.turns:
                self._lineup.note(self._lineup.measuring, event)
                return
            case Hello() if event.protocol != PROTOCOL:
                self._refuse(event)
                return
            case Ready() if self._process is not None and self._process.ending:
                return  # the user requested a replacement before this worker was ready
            case Ready():
                # A worker that opens other GPUs for a request sends `Ready` again.
                self.machine, self.phase = event.machine, "busy" if self._active else "ready"
                self._fresh = memory_of(self._process.pid) if self._process is not None else 0
            case WorkerExited():
                self._exited(event)
                return
            case Finished() if self._goes_on(event):
                return
            case RunStarted() if isinstance(self._active, Measure) and event.run == self._active.id:
                if words := self._changed(event):
                    self._break_off(event.run, words)
                    return
                if self._active.part:
                    return  # only the run's first part reports the start
                event = msgspec.structs.replace(event, arms=self._active.arms)
        if self._foreign(event):
            return
        if isinstance(event, RunStarted | Round):
            self._samples.apply(event)
        self._note_settled(event)
        self._on_event(event)
        self._spoilt |= self._spoils(event)
        if self._ends(event):
            swollen = self._swollen()
            self._release()
            self.phase = "ready"
            if self._spoilt or swollen:
                self._replace()
        if self.phase == "ready":
            self._next()

    def _note_settled(self, event: Event) -> None:
        """Record the arms that earlier processes found to be steady from their first call."""
        if isinstance(event, RunStarted) and self._at_once[0] != event.run:
            self._at_once = event.run, set()
        if isinstance(event, WarmedUp) and event.at_once and isinstance(self._active, Measure):
            self._at_once[1].add(event.arm)

    def _changed(self, event: RunStarted) -> str:
        """Return why a process must not measure, if its code differs from the code of the run's first
        process; else "".
        """
        if self._code[0] != event.run:
            self._code = event.run, event.code
        before = self._code[1]
        names = [name for name in before if name in event.code and event.code[name] != before[name]]
        if not names:
            return ""
        return f"{', '.join(names[:3])} changed during the measurement; the earlier rounds are saved"

    def _break_off(self, run: str, words: str) -> None:
        """Report the run as ended with the message `words`, keep its data, and end its process."""
        self._release()
        self._on_event(Finished(run=run, status="failed", message=words))
        self._replace()

    def _foreign(self, event: Event) -> bool:
        """Return True if the event belongs to another run. User code that guesses a run's id could send such
        an event.
        """
        run = getattr(event, "run", "")
        return bool(run) and (self._active is None or self._active.id != run)

    def _spoils(self, event: Event) -> bool:
        """Return True if the event reports an error in user code, which may leave the process in an undefined
        state.
        """
        active = self._active
        if isinstance(active, Declare):
            return isinstance(event, Refused) and event.request == active.id
        own = isinstance(active, Measure) and bool(active.scenario.file)
        return own and isinstance(event, ArmStatus) and event.status == "failed"

    def _replace(self) -> None:
        """End the worker; `_exited` then starts a new worker."""
        assert self._process is not None
        self.phase, self._process.ending = "busy", True
        self._spawn_task(self._process.end())

    def _ends(self, event: Event) -> bool:
        active = self._active
        if active is None:
            return False
        match event:
            case Finished():
                return event.run == active.id
            case Answer():
                return event.request == active.id and not event.more
            case Refused() | Declared():
                return event.request == active.id
        return False

    def _goes_on(self, event: Finished) -> bool:
        """If the run continues in a fresh process, prepare that process and return True."""
        active = self._active
        if not isinstance(active, Measure) or event.run != active.id or event.status != "ok":
            return False
        most = active.budget.forks if self._forks(active) else processes(active)
        if self._process is not None and self._zygotes is not None:
            self._largest = max(self._largest, memory_of(self._process.pid))
        further = following(active, self.machine, most)
        if further is None or active.id in self._cancelling:
            return False
        if further.worker > active.worker and most > processes(active) and known(self._samples, active):
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
        if self._closed or self._active is not active or self._zygotes is None or one.request is None:
            return None
        number, command, descriptor = self._zygotes.command(self._command)
        one.request = msgspec.structs.replace(one.request, zygote=number)
        return await self._spawn(one, command, (descriptor,))

    def _exited(self, event: WorkerExited) -> None:
        active, was, stopped = self._active, self.phase, bool(self._cancelling)
        self._release()
        self._lineup.measuring, self.phase = Further(), "down"
        self._spoilt = self._measured = False
        self._on_event(event)
        if active is not None:
            words = "the call did not return, so its process was ended" if stopped else event.message
            self._fail(active, words, "cancelled" if stopped else "failed")
        # A worker that died during startup would probably die again, so report it and wait for a request.
        if not self._closed and was != "starting":
            self._spawn_task(self.start())
        elif self._queue:
            self._fail_queue(event.message)

    def _fail_queue(self, message: str) -> None:
        while self._queue:
            self._fail(self._queue.popleft(), message)

    def _fail(self, request: Measure | Declare | Ask, message: str, status: Ending = "failed") -> None:
        if isinstance(request, Measure):
            self._on_event(Finished(run=request.id, status=status, message=message))
        else:
            self._on_event(Refused(request=request.id, message=message))

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
        if self.phase == "ready" and self._active is None and self._queue and self._process is not None:
            first = self._queue[0]
            scope = confined_to(first)
            other = bool(self._held) and scope != self._held and bool(scope or not isinstance(first, Ask))
            if other or (isinstance(first, Measure) and first.worker and self._measured):
                self._replace()  # each additional process must be fresh
                return
            self._held = scope or self._held
            self._measured |= isinstance(first, Measure)
            self._active = self._queue.popleft()
            self.phase = "busy"
            asked = narrowed(self._active, self.machine)
            if isinstance(asked, Measure):
                asked = self._as_one_of_several(asked)
            self._spawn_task(self._ask(self._process, asked))

    async def _ask(self, process: WorkerProcess, request: Request) -> None:
        if self._zygotes is not None:
            await self._zygotes.quiet()
        if isinstance(request, Measure) and request.zygote is not None and (beside := self._beside(request)):
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
        return memory_of(self._process.pid) > self._fresh + GROWN

    def _beside(self, request: Measure) -> int:
        """Return the number of processes to prepare in parallel, as far as the idle processors and the free
        memory allow.

        Assumes that each process needs as much memory as the largest process so far. Returns 0 for user code,
        because loading user code may have side effects.
        """
        if request.scenario.file.rpartition(":")[0].endswith(".py") or request.scenario.opening.code:
            return 0
        room = psutil.virtual_memory().available // self._largest
        return max(0, min(idle_processors(), BESIDE - 1, room - 1))

    def _as_one_of_several(self, request: Measure) -> Measure:
        """Return the request for one process of a run that may fork processes.

        A forked process gets the arms that earlier processes found steady from their first call. If later
        processes will be forked, the first process stops pursuing precision sooner.
        """
        if request.worker:
            # A GPU's clock needs time to settle in each process.
            settled = tuple(sorted(self._at_once[1])) if self._zygote is not None else ()
            return msgspec.structs.replace(request, zygote=self._zygote, settled=settled)
        foreseen, self._foreseen = self._foreseen, False
        if not self._forks(request):
            if foreseen and self._zygotes is not None:
                self._spawn_task(self._zygotes.close())  # no more processes will be forked
            return request
        chase_s = min(request.budget.chase_s or math.inf, FORKED_CHASE_S)
        budget = msgspec.structs.replace(request.budget, chase_s=chase_s)
        return msgspec.structs.replace(request, budget=budget)

    def _spawn_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def processes(request: Measure) -> int:
    """Return the number of fresh processes for a run.

    Returns 1 for a sweep, unless the budget treats all processes alike.
    """
    budget = request.budget
    if request.turns:
        return request.worker + 1  # `Turns` starts each additional process itself
    return 1 if request.sweep is not None and budget.further_s else budget.workers


def parts(request: Measure, machine: Machine | None) -> tuple[tuple[Arm, ...], ...]:
    """Split a run's arms into groups that can share a process: separates a GPU's float32 and tf32 arms.

    TensorFlow caches cuDNN and cuBLASLt plans by shape and dtype, but not by TF32 (see
    `ConvParametersProto`), so one arm could use the other's plan. In a sweep, or if devices measure together,
    all arms still share one process, and the process reports a caveat.
    """
    gpus = {gpu.name for gpu in machine.gpus} if machine is not None else set()
    own = tuple(arm for arm in request.arms if arm.dtype == "tf32" and arm.device in gpus)
    rest = tuple(arm for arm in request.arms if arm not in own)
    apart = own and any(arm.dtype == "float32" and arm.device in gpus for arm in rest)
    if not apart or request.sweep is not None or any(arm.together for arm in request.arms):
        return (request.arms,)
    return rest, own


def narrowed(request: Measure | Declare | Ask, machine: Machine | None) -> Measure | Declare | Ask:
    """Return the request for one process, with only its part of the run's arms."""
    if not isinstance(request, Measure) or len(every := parts(request, machine)) == 1:
        return request
    # The worker's file would contain only part of the run if the lab disappeared, so write no file.
    return msgspec.structs.replace(request, arms=every[request.part], spool="")


def known(samples: RunState, request: Measure) -> bool:
    """Return True if enough processes have measured every arm with the budget's precision."""
    every = [cell for arm in samples.arms.values() for cell in arm.cells.values() if cell.samples]
    halves = [found.relative_half_width for cell in every if (found := estimate_of(cell)) is not None]
    return request.worker + 1 >= processes(request) and all(
        half is not None and half <= request.budget.precision for half in halves
    )


def following(request: Measure, machine: Machine | None, most: int = 0) -> Measure | None:
    """Return the request for the run's next process; None after the last process.

    If the budget limits the time of additional processes, these measure no phases, latency or placement.
    most: maximum number of processes; 0 for the budget's number without forking.
    """
    if request.part + 1 < len(parts(request, machine)):
        return msgspec.structs.replace(request, part=request.part + 1)
    if request.worker + 1 >= (most or processes(request)):
        return None
    short = bool(request.budget.further_s)
    return msgspec.structs.replace(
        request,
        worker=request.worker + 1,
        part=0,
        phases=request.phases and not short,
        latency=request.latency and not short,
        placement=request.placement and not short,
    )
