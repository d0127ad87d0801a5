"""One measurement or question from a command: a worker started, its events folded, Ctrl-C obeyed."""

import asyncio
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

import click
import msgspec

from tuilab.analysis.answer import brief
from tuilab.history.recorder import Recorder
from tuilab.history.store import Store
from tuilab.lab import roofs
from tuilab.model.errors import InputError, WorkerError
from tuilab.model.events import Answer, Declared, Event, Finished, Refused, WorkerExited
from tuilab.model.machine import Machine
from tuilab.model.requests import Ask, Declare, Measure
from tuilab.model.run import RunState
from tuilab.model.workload import Declaration
from tuilab.runner.host_runner import HERE, HostRunner, supervise
from tuilab.runner.multi_host import MultiHostRunner

Listener = Callable[[Event], None]


@dataclass
class Outcome:
    """A run's state at its end, and whether a person stopped it."""

    state: RunState
    interrupted: bool


class RefusedInput(InputError):
    """An InputError of the worker's side, in its own words."""

    def __init__(self, message: str) -> None:
        ValueError.__init__(self, message)


class CodeError(WorkerError):
    """A person's own code raised; the message is its traceback."""


class Session:
    """Workers for the length of one command; `async with`. Its runs go to the history as they grow.

    hosts: a worker on each, "" for this machine. member: makes what measures on a host.
    """

    def __init__(
        self,
        listener: Listener,
        hosts: Sequence[str] = (HERE,),
        member: Callable[[str, Listener], HostRunner] = supervise,
    ) -> None:
        self._listener = listener
        self._recorder = Recorder(Store.open())
        self._news: asyncio.Queue[Event] = asyncio.Queue()
        self.supervisor = MultiHostRunner(self._receive, hosts, member)
        self._failed: dict[str, str] = {}
        self._interrupted = asyncio.Event()
        self._stopping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Session":
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
                loop.add_signal_handler(number, self._interrupted.set)
        await self.supervisor.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.supervisor.close()
        last_words = self._recorder.close()
        if last_words:
            click.echo(f"tuilab: {last_words}", err=True)

    def conclude(self, state: RunState, answer: str) -> None:
        """Keep the answer of a run that has ended, and its line in a list."""
        self._recorder.conclude(state.run, answer, brief(state))

    def _receive(self, event: Event) -> None:
        self._recorder.record(event)
        roofs.learn(event)
        self._listener(event)
        self._news.put_nowait(event)

    async def machine(self) -> Machine:
        """The machine of the first host, once every worker is ready. Raises as `machines`."""
        return next(iter((await self.machines()).values()))

    async def machines(self) -> Mapping[str, Machine]:
        """Each host's machine, once every worker is ready.

        Raises WorkerError where one cannot be had, and KeyboardInterrupt on Ctrl-C.
        """
        members = self.supervisor.members
        while len(self._failed.keys() | self.supervisor.machines.keys()) < len(members):
            event = await self._next()
            if event is None:
                raise KeyboardInterrupt
            if isinstance(event, WorkerExited):
                self._failed[event.origin] = self._failed.get(event.origin, event.message)
            elif isinstance(event, Refused):
                self._failed[event.origin] = event.message
        if self._failed:
            raise WorkerError("; ".join(self._failed.values()))
        return {host: self.supervisor.machines[host] for host in members}

    async def run(self, request: Measure, state: RunState | None = None) -> Outcome:
        """Measure to the end. On Ctrl-C the run is stopped and what was measured is kept.

        state: of a run in the history that this one goes on with.
        """
        if state is not None:
            self._recorder.go_on(request.id)
        state = state or RunState()
        await self.supervisor.measure(msgspec.structs.replace(request, roofs=roofs.known()))
        while True:
            event = await self._next()
            if event is None:
                if self._stopping is None:
                    self._stopping = asyncio.create_task(self.supervisor.cancel(request.id))
                continue
            state.apply(event)
            if isinstance(event, Finished) and event.run == request.id:
                break
        if self._stopping is not None:
            await self._stopping
        if not state.run:
            raise WorkerError(event.message)
        return Outcome(state, self._stopping is not None)

    async def ask(self, kind: str, body: msgspec.Struct) -> AsyncIterator[Answer]:
        """Each answer to a question. Raises RefusedInput where the question is wrong, else WorkerError."""
        request = Ask(id=uuid.uuid4().hex, kind=kind, body=msgspec.Raw(msgspec.json.encode(body)))
        await self.supervisor.send(request)
        more = True
        while more:
            event = await self._next()
            if event is None:
                raise KeyboardInterrupt
            if isinstance(event, Refused) and event.request == request.id:
                raise RefusedInput(event.message) if event.where else WorkerError(event.message)
            if isinstance(event, Answer) and event.request == request.id:
                more = event.more
                yield event

    async def declare(self, file: str) -> Declaration:
        """What `path/to/file.py:name` declares. Raises RefusedInput, or CodeError with its own traceback."""
        request = Declare(id=uuid.uuid4().hex, file=file)
        await self.supervisor.send(request)
        while True:
            event = await self._next()
            if event is None:
                raise KeyboardInterrupt
            if isinstance(event, Refused) and event.request == request.id:
                raise CodeError(event.detail) if event.detail else RefusedInput(event.message)
            if isinstance(event, Declared) and event.request == request.id:
                return event.declaration

    async def _next(self) -> Event | None:
        """The next event, or None when a person asks to stop (once)."""
        if self._interrupted.is_set() and self._stopping is None:
            return None
        news = asyncio.ensure_future(self._news.get())
        stop = asyncio.ensure_future(self._interrupted.wait())
        waiting = {news} if self._stopping is not None else {news, stop}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if news.done():
            return news.result()
        news.cancel()
        return None
