"""Runs commands with the worker that all tests of the session share."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import Worker
from tuilab.lab import Lab
from tuilab.lab.questions import Questions
from tuilab.model.arms import HERE
from tuilab.model.events import Answer, Refused
from tuilab.model.requests import Request

Act = Callable[[Any], Awaitable[Any]]


@pytest.fixture
def with_shared(worker: Worker) -> Callable[[Act], Any]:
    """Return a replacement for a command's `with_lab` that uses the shared worker instead of starting one."""

    async def send(request: Request) -> None:
        worker.send(request)
        more = True
        while more:
            event = worker.next()
            lab.questions.receive(event)
            more = not isinstance(event, Refused) and not (isinstance(event, Answer) and not event.more)

    async def ready() -> dict[str, Any]:
        return {HERE: worker.machine}

    questions = Questions(send)
    state = SimpleNamespace(machine=worker.machine)
    lab = SimpleNamespace(questions=questions, ask=questions.ask, ready=ready, state=state)
    lab.explain = partial(Lab.explain, lab)  # type: ignore[arg-type]
    return lambda act, scope="": asyncio.run(act(lab))
