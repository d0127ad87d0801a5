"""A node's side: the functions that run in a Dask worker, and the tuilab worker that they keep warm there."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import msgspec

from tuilab.fleet.messages import Greeting, JobResult, Task
from tuilab.model import events as e
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.runner.process import local_command
from tuilab.runner.supervisor import Supervisor
from tuilab.spool import DONE, file_of, folder
from tuilab.version import __version__

IDLE_S = 120.0
"""A worker that nobody has asked for this long is ended: it holds memory of the GPU."""
LOOK_S = 1.0
"""How often it is looked whether anyone who asked is still there."""
SAY_S = 0.5

Say = Callable[[str], None]
Held = Callable[[], bool]
"""Whether anyone who asked still waits for the answer, or holds it."""


class Node:
    """The one worker of this process, in an event loop of its own thread. Methods may be called from any."""

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = list(command) if command else None
        self._loop = asyncio.new_event_loop()
        self._supervisor: Supervisor | None = None
        self._news: asyncio.Queue[e.Event] = asyncio.Queue()
        self._run = ""
        self._used = time.monotonic()
        self._leases: list[Held] = []
        self._kept: dict[str, Path] = {}
        threading.Thread(target=self._loop.run_forever, daemon=True, name="tuilab").start()

    def greet(self, held: Held) -> Machine:
        """Start the worker, which ends once nobody holds a greeting; returns its machine.

        Raises RuntimeError with the reason if that fails.
        """
        return asyncio.run_coroutine_threadsafe(self._greeted(held), self._loop).result()

    def measure(self, task: Task, say: Say, held: Held) -> JobResult:
        """Measure; returns at the run's end, however that came."""
        return asyncio.run_coroutine_threadsafe(self._measure(task, say, held), self._loop).result()

    def stop(self) -> None:
        """Have the run under way stop; does not wait."""
        if self._run and self._supervisor is not None:
            asyncio.run_coroutine_threadsafe(self._supervisor.cancel(self._run), self._loop)

    def close(self, taken: Sequence[str]) -> None:
        """End the worker, keep no run that was taken; does not wait."""
        asyncio.run_coroutine_threadsafe(self._close(taken), self._loop)

    async def _greeted(self, held: Held) -> Machine:
        if not self._leases:
            self._watching = asyncio.ensure_future(self._watch())
        self._leases.append(held)
        return await self._greet()

    async def _watch(self) -> None:
        """As long as somebody is there; what nobody has taken by then stays in this machine's spool."""
        while self._leases:
            await asyncio.sleep(LOOK_S)
            self._leases = [held for held in self._leases if held()]
            if self._supervisor is not None and not self._run and time.monotonic() - self._used >= IDLE_S:
                await self._end()
        self._kill()
        self._leave()

    async def _greet(self) -> Machine:
        self._used = time.monotonic()
        if self._supervisor is None:
            self._supervisor = Supervisor(self._news.put_nowait, self._command or command())
        supervisor = self._supervisor
        while not self._news.empty():
            self._news.get_nowait()
        await supervisor.start()
        while supervisor.machine is None or supervisor.phase in ("down", "starting"):
            event = await self._news.get()
            if isinstance(event, e.WorkerExited | e.Refused):
                raise RuntimeError(event.message)
        self._used = time.monotonic()
        return supervisor.machine

    async def _measure(self, task: Task, say: Say, held: Held) -> JobResult:
        self._forget(task.taken)
        await self._greet()
        assert self._supervisor is not None
        self._run = run = task.request.id
        began, said = time.time(), 0.0
        kept: list[msgspec.Raw] = []
        await self._supervisor.measure(self._spooled(task.request))
        while True:
            try:
                event = await asyncio.wait_for(self._news.get(), LOOK_S)
            except TimeoutError:
                event = None
            if not held():
                self._kill()  # nobody waits for it any more: its rounds so far stay in the file
                break
            if event is None or getattr(event, "run", "") != run:
                continue
            if not isinstance(event, e.Progress):
                kept.append(msgspec.Raw(e.encode(event).rstrip()))
            if isinstance(event, e.Finished):
                break
            if words := _words(event):
                now = time.monotonic()
                if now - said >= SAY_S:
                    say(words)
                    said = now
        self._run, self._used = "", time.monotonic()
        return JobResult(began=began, ended=time.time(), events=tuple(kept))

    def _spooled(self, request: Measure) -> Measure:
        """The request with a file of its own here, which stays until somebody has taken its result."""
        try:
            place = folder()
        except OSError:
            return request
        self._kept[request.id] = file_of(place, request.id)
        return msgspec.structs.replace(request, spool=str(place), finish=False)

    def _forget(self, taken: Sequence[str]) -> None:
        for run in taken:
            if run in self._kept:
                self._kept.pop(run).unlink(missing_ok=True)

    def _leave(self) -> None:
        """Leave the files of all runs to the next lab on this machine, though this process continues."""
        while self._kept:
            file = self._kept.popitem()[1]
            with contextlib.suppress(OSError):
                file.rename(file.with_suffix(DONE))

    def _kill(self) -> None:
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None:
            supervisor.kill_now()

    async def _close(self, taken: Sequence[str]) -> None:
        self._forget(taken)
        await self._end()
        self._leave()

    async def _end(self) -> None:
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None:
            await supervisor.close()


def _words(event: e.Event) -> str:
    match event:
        case e.Progress():
            return event.stage
        case e.Round():
            return f"round {event.index + 1}"
    return ""


def command() -> list[str]:
    """Start a tuilab worker without what Dask sets for its own workers: it would change what is measured."""
    import dask.config

    ours = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    unset = [word for name in ours for word in ("-u", name)]
    return ["env", *unset, *local_command()]


@cache
def node() -> Node:
    """Return this process's node."""
    return Node()


def greet() -> bytes:
    """Return what this node is. Runs in a thread of the Dask worker."""
    try:
        machine, problem = node().greet(_held()), ""
    except (RuntimeError, OSError) as error:
        machine, problem = None, str(error)
    greeting = Greeting(protocol=e.PROTOCOL, tuilab=__version__, machine=machine, problem=problem)
    return msgspec.json.encode(greeting)


def measure(task: bytes) -> bytes:
    """Measure one cell. Runs in a thread of the Dask worker; says how it goes under the task's topic."""
    from distributed import get_worker

    worker, asked = get_worker(), msgspec.json.decode(task, type=Task)

    def say(words: str) -> None:
        worker.log_event(asked.topic, [asked.request.id, words])

    return msgspec.json.encode(node().measure(asked, say, _held()))


def _held() -> Held:
    """Whether the client of the task that calls this still wants it; the scheduler tells when it has gone."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def held() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state not in ("cancelled", "released")

    return held


def stop() -> None:
    """Stop what this node measures. Runs in the Dask worker's own loop, so that it comes at once."""
    node().stop()


def close(taken: Sequence[str]) -> None:
    """End this node's worker. taken: runs whose results have arrived."""
    node().close(taken)
