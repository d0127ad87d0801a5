"""A node's side: the functions that run in a Dask worker, and the tuilab worker that they keep warm there."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache

import msgspec

import tuilab
from tuilab.fleet.messages import Greeting, JobResult, Task
from tuilab.model import events as e
from tuilab.model.machine import Machine
from tuilab.runner.process import local_command
from tuilab.runner.supervisor import Supervisor

IDLE_S = 120.0
"""A worker that nobody has asked for this long is ended: it holds memory of the GPU."""
SAY_S = 0.5

Say = Callable[[str], None]


class Node:
    """The one worker of this process, in an event loop of its own thread. Methods may be called from any."""

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = list(command) if command else None
        self._loop = asyncio.new_event_loop()
        self._supervisor: Supervisor | None = None
        self._news: asyncio.Queue[e.Event] = asyncio.Queue()
        self._run = ""
        self._used = time.monotonic()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="tuilab").start()

    def greet(self) -> Machine:
        """Start the worker; returns its machine. Raises RuntimeError with the reason where that fails."""
        return asyncio.run_coroutine_threadsafe(self._greet(), self._loop).result()

    def measure(self, task: Task, say: Say) -> JobResult:
        """Measure; returns at the run's end, however that came."""
        return asyncio.run_coroutine_threadsafe(self._measure(task, say), self._loop).result()

    def stop(self) -> None:
        """Have the run under way stop; does not wait."""
        if self._run and self._supervisor is not None:
            asyncio.run_coroutine_threadsafe(self._supervisor.cancel(self._run), self._loop)

    def close(self) -> None:
        """End the worker; does not wait."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop)

    async def _greet(self) -> Machine:
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
        return supervisor.machine

    async def _measure(self, task: Task, say: Say) -> JobResult:
        await self._greet()
        assert self._supervisor is not None
        self._run = task.request.id
        began, said = time.time(), 0.0
        kept: list[msgspec.Raw] = []
        await self._supervisor.measure(task.request)
        while True:
            event = await self._news.get()
            if getattr(event, "run", "") != self._run:
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
        self._loop.call_later(IDLE_S, self._close_if_idle)
        return JobResult(began=began, ended=time.time(), events=tuple(kept))

    def _close_if_idle(self) -> None:
        if not self._run and time.monotonic() - self._used >= IDLE_S:
            self.close()

    async def _close(self) -> None:
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
    """Starts a tuilab worker without what Dask sets for its own workers: it would change what is measured."""
    import dask.config

    ours = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    unset = [word for name in ours for word in ("-u", name)]
    return ["env", *unset, *local_command()]


@cache
def node() -> Node:
    """This process's node."""
    return Node()


def greet() -> bytes:
    """What this node is. Runs in a thread of the Dask worker."""
    try:
        machine, problem = node().greet(), ""
    except (RuntimeError, OSError) as error:
        machine, problem = None, str(error)
    greeting = Greeting(protocol=e.PROTOCOL, tuilab=tuilab.__version__, machine=machine, problem=problem)
    return msgspec.json.encode(greeting)


def measure(task: bytes) -> bytes:
    """Measure one cell. Runs in a thread of the Dask worker; says how it goes under the task's topic."""
    from distributed import get_worker

    worker, asked = get_worker(), msgspec.json.decode(task, type=Task)

    def say(words: str) -> None:
        worker.log_event(asked.topic, [asked.request.id, words])

    return msgspec.json.encode(node().measure(asked, say))


def stop() -> None:
    """Stop what this node measures. Runs in the Dask worker's own loop, so that it comes at once."""
    node().stop()


def close() -> None:
    """End this node's worker."""
    node().close()
