"""Sends questions to the worker and receives the answers."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import msgspec

from tuilab.model.errors import UNDECODED, InputError, WorkerError
from tuilab.model.events import Answer, Declared, Event, Progress, Refused
from tuilab.model.requests import Ask, Declare, Request
from tuilab.model.scenario import AS_IT_IS, Opening
from tuilab.model.workload import Declaration

Body = TypeVar("Body", bound=msgspec.Struct)


class Unanswered(WorkerError):
    """Raised if the worker could not answer. The message gives the reason."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class RefusedInput(InputError):
    """An InputError that the worker raised."""

    def __init__(self, message: str, lacking: tuple[str, ...] = (), suggested: tuple[str, ...] = ()) -> None:
        ValueError.__init__(self, message)
        self.lacking, self.suggested = lacking, suggested
        """`lacking`: arguments of the user's code without a known shape. `suggested`: shapes that the code
        accepts.
        """


class Questions:
    """Sends questions to the worker through `send`. The caller must pass every event to `receive`."""

    def __init__(self, send: Callable[[Request], Awaitable[None]]) -> None:
        self._send = send
        self._open: dict[str, asyncio.Queue[Answer | Declared | Refused]] = {}
        self._heard: dict[str, Callable[[Progress], None]] = {}

    async def ask(self, kind: str, body: msgspec.Struct, answer: type[Body], *, idle: bool = False) -> Body:
        """Send a question and return the last answer. Waits while the worker is busy. Raises the errors of
        `answers`.
        """
        answers = [each async for each in self.answers(kind, body, idle=idle)]
        try:
            return msgspec.json.decode(answers[-1].body, type=answer)
        except UNDECODED as error:
            raise Unanswered(f"the worker's answer is invalid: {error}") from error

    async def answers(self, kind: str, body: msgspec.Struct, *, idle: bool = False) -> AsyncIterator[Answer]:
        """Send a question and yield each answer. Raises RefusedInput for an invalid question, and Unanswered
        for any other failure.

        idle: let the next request interrupt the question; an interrupted question raises RefusedInput.
        """
        raw = msgspec.Raw(msgspec.json.encode(body))
        request = Ask(id=uuid.uuid4().hex, kind=kind, body=raw, idle=idle)
        more = True
        answers = self._open[request.id] = asyncio.Queue()
        try:
            await self._send(request)
            while more:
                event = await answers.get()
                if isinstance(event, Refused):
                    raise RefusedInput(event.message) if event.where else Unanswered(event.message)
                assert isinstance(event, Answer)
                more = event.more
                yield event
        finally:
            self._open.pop(request.id, None)

    async def declare(
        self, file: str, opening: Opening = AS_IT_IS, heard: Callable[[Progress], None] | None = None
    ) -> Declaration:
        """Return the declaration of `path/to/file.py:name`. heard: called with the progress of loading a
        model.

        Raises RefusedInput, or Unanswered with the traceback of the user's code.
        """
        request = Declare(id=uuid.uuid4().hex, file=file, opening=opening)
        answers = self._open[request.id] = asyncio.Queue()
        if heard is not None:
            self._heard[request.id] = heard
        try:
            await self._send(request)
            event = await answers.get()
        finally:
            self._open.pop(request.id, None)
            self._heard.pop(request.id, None)
        if isinstance(event, Refused):
            if event.detail or not event.where:  # the user's code raised an error, or the worker died
                raise Unanswered(event.message, event.detail)
            raise RefusedInput(event.message, event.lacking, event.suggested)
        assert isinstance(event, Declared)
        return event.declaration

    def receive(self, event: Event) -> None:
        if isinstance(event, Answer | Declared | Refused):
            waiting = self._open.get(event.request)
            if waiting is not None:
                waiting.put_nowait(event)
        elif isinstance(event, Progress) and event.run in self._heard:
            self._heard[event.run](event)
