"""The node's side: functions that run in a Dask worker, and the node's warm tuilab worker."""

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
"""Seconds without a task after which the worker is stopped, because it holds GPU memory."""
LOOK_S = 1.0
"""Seconds between checks that the client is still connected."""
SAY_S = 0.5

Say = Callable[[str], None]
Held = Callable[[], bool]
"""Returns True while the client still needs the task's answer."""


class Node:
    """Owns the only tuilab worker of this process. Its methods are thread-safe: they use an event loop in
    a separate thread.
    """

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
        """Start the worker and return its machine. The worker ends when no client needs it any more."""
        return asyncio.run_coroutine_threadsafe(self._greeted(held), self._loop).result()

    def measure(self, task: Task, say: Say, held: Held) -> JobResult:
        return asyncio.run_coroutine_threadsafe(self._measure(task, say, held), self._loop).result()

    def stop(self) -> None:
        if self._run and self._supervisor is not None:
            asyncio.run_coroutine_threadsafe(self._supervisor.cancel(self._run), self._loop)

    def close(self, taken: Sequence[str]) -> None:
        asyncio.run_coroutine_threadsafe(self._close(taken), self._loop)

    async def _greeted(self, held: Held) -> Machine:
        if not self._leases:
            self._watching = asyncio.ensure_future(self._watch())
        self._leases.append(held)
        return await self._greet()

    async def _watch(self) -> None:
        """Stop the worker after IDLE_S without a task, and kill the worker once no client needs it.

        Uncollected data stays in this machine's spool.
        """
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
                self._kill()  # the client no longer waits for the run; its rounds stay in the file
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
        """Return the request with a local events file, which is kept until the client has collected the
        result.
        """
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
        """Mark the events files of all runs as abandoned, so that the next lab on this machine imports them
        although this process is still running.
        """
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
    """Return the command for a tuilab worker. It unsets Dask's environment variables, which would affect
    the measurement.
    """
    import dask.config

    ours = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    unset = [word for name in ours for word in ("-u", name)]
    return ["env", *unset, *local_command()]


@cache
def node() -> Node:
    return Node()


def greet() -> bytes:
    """Return this node's greeting as JSON. Runs in a thread of the Dask worker."""
    try:
        machine, problem = node().greet(_held()), ""
    except (RuntimeError, OSError) as error:
        machine, problem = None, str(error)
    greeting = Greeting(protocol=e.PROTOCOL, tuilab=__version__, machine=machine, problem=problem)
    return msgspec.json.encode(greeting)


def measure(task: bytes) -> bytes:
    """Measure one job; return its JobResult as JSON. Reports progress under the task's topic. Runs in a
    thread of the Dask worker.
    """
    from distributed import get_worker

    worker, asked = get_worker(), msgspec.json.decode(task, type=Task)

    def say(words: str) -> None:
        worker.log_event(asked.topic, [asked.request.id, words])

    return msgspec.json.encode(node().measure(asked, say, _held()))


def _held() -> Held:
    """Return a function that checks whether the client still needs the answer of the calling task."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def held() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state not in ("cancelled", "released")

    return held


def stop() -> None:
    """Stop this node's measurement. Runs in the event loop of the Dask worker, because the worker's
    threads are busy.
    """
    node().stop()


def close(taken: Sequence[str]) -> None:
    """Stop this node's worker. taken: ids of the runs whose results the client has collected."""
    node().close(taken)
