"""Questions to the worker other than runs, each awaited."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from tuilab.lab.runner import Runner
from tuilab.model.events import Answer, Declared, Event, Profiled, Refused
from tuilab.model.profile import Profile, ProfileArm
from tuilab.model.requests import Ask, Declare
from tuilab.model.workload import Declaration

Body = TypeVar("Body", bound=msgspec.Struct)


class Unanswered(Exception):
    """The worker could not answer; the message says why. detail: a traceback for the log, "" for none."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class Questions:
    """Asks one worker. `receive` wants every event; `tell` takes what becomes part of a run."""

    def __init__(self, runner: Runner, tell: Callable[[Event], None]) -> None:
        self._runner, self._tell = runner, tell
        self._open: dict[str, asyncio.Future[Any]] = {}

    async def ask(self, kind: str, body: msgspec.Struct, answer: type[Body]) -> Body:
        """The answer to a question, once the worker is free. Raises Unanswered."""
        identity = uuid.uuid4().hex
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[identity] = future
        try:
            await self._runner.send(Ask(id=identity, kind=kind, body=msgspec.Raw(msgspec.json.encode(body))))
            return msgspec.json.decode((await future).body, type=answer)
        except msgspec.MsgspecError as error:
            raise Unanswered(f"the answer was not understood: {error}") from error
        finally:
            self._open.pop(identity, None)

    async def profile(self, run: str, question: ProfileArm) -> None:
        """Have an arm of a run profiled; the profile stays with the run. Raises Unanswered."""
        found = await self.ask("profile", question, Profile)
        self._tell(Profiled(run=run, arm=question.arm.id, profile=found))

    async def declare(self, file: str) -> Declaration:
        """What `path/to/file.py:name` declares. Raises Unanswered, the traceback as its detail."""
        identity = uuid.uuid4().hex
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[identity] = future
        try:
            await self._runner.send(Declare(id=identity, file=file))
            declared: Declared = await future
            return declared.declaration
        finally:
            self._open.pop(identity, None)

    def receive(self, event: Event) -> None:
        """Take note of an event."""
        if isinstance(event, Declared) or (isinstance(event, Answer) and not event.more):
            future = self._open.get(event.request)
            if future is not None and not future.done():
                future.set_result(event)
        elif isinstance(event, Refused):
            future = self._open.get(event.request)
            if future is not None and not future.done():
                future.set_exception(Unanswered(event.message, event.detail))
