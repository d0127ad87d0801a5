"""Decides when each worker of a run measures. By default, all workers measure at once."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from tuilab.model import events as e
from tuilab.model.requests import Measure
from tuilab.runner.host import HostRunner

Tell = Callable[[str, e.Event], None]


class Policy:
    """Lets all workers measure at once. Subclasses make workers wait for each other.

    members: the workers by name. parts: each worker's part of the run, by the worker's name. tell: called
    with a worker's name and each of its events that belongs to the run's result.
    """

    def __init__(self, members: Mapping[str, HostRunner], parts: Mapping[str, Measure], tell: Tell) -> None:
        self._members, self.parts, self._tell = members, parts, tell
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        for name, part in self.parts.items():
            await self._measure(name, part)

    async def cancel(self) -> None:
        await asyncio.gather(*(self._members[name].cancel(part.id) for name, part in self.parts.items()))

    def receive(self, name: str, event: e.Event) -> None:
        self._tell(name, event)

    def close(self) -> None:
        """Stop waiting for the workers, which have been closed."""
        for task in self._tasks:
            task.cancel()

    async def _measure(self, name: str, part: Measure) -> None:
        try:
            await self._members[name].start()
        except OSError as error:
            self.receive(name, e.Finished(run=part.id, status="failed", message=unstarted(name, error)))
        else:
            await self._members[name].measure(part)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def unstarted(name: str, error: OSError) -> str:
    program = f"{error.filename}: " if error.filename else ""
    return f"{name or 'the worker'} cannot be started: {program}{error.strerror}"
