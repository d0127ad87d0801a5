"""Manages the forked processes of a run: they build their arms in parallel, then measure one after
another.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tuilab.model.events import Event, Finished, TurnOver, WorkerExited
from tuilab.model.requests import Measure
from tuilab.runner.process import WorkerProcess

PREPARING_S = 30.0
"""Maximum seconds to wait for a process to build its arms."""
LOOK_S = 0.5


@dataclass(eq=False)
class Further:
    """A worker process, and the part of a run that it measures; request is None until it measures.

    ready: True if its arms are built and it waits for its turn. gone: True if it will never measure.
    heard: True if it has sent an event. spoiled: True if user code failed in it. zygote: the zygote that it
    was forked from; None for a fresh process. scope: the files to which it is confined, as in `confined_to`.
    fresh: its memory in bytes when it became ready.
    """

    request: Measure | None = None
    process: WorkerProcess | None = None
    ready: bool = False
    gone: bool = False
    heard: bool = False
    spoiled: bool = False
    zygote: int | None = None
    scope: str = ""
    fresh: int = 0


class Lineup:
    """The processes of a run: the measuring process, the processes in preparation, and those that have
    measured.

    go: called with the measuring process once all parallel preparations are done.
    """

    def __init__(self, go: Callable[[WorkerProcess], None]) -> None:
        self._go = go
        self.measuring = Further()
        self.ahead: deque[Further] = deque()
        self._spent: list[WorkerProcess] = []

    def note(self, further: Further, event: Event) -> None:
        further.ready |= isinstance(event, TurnOver)
        further.gone |= isinstance(event, Finished | WorkerExited)
        self._begin()

    def _begin(self) -> None:
        of = self.measuring
        if of.ready and of.process is not None and all(one.ready or one.gone for one in self.ahead):
            of.ready = False
            self._go(of.process)

    def advance(self) -> bool:
        """Let the next prepared process measure. Return False if no process is prepared."""
        if not self.ahead or self.ahead[0].gone or self.ahead[0].process is None:
            return False
        # Keep the previous process, which is idle, because ending it now would disturb the next process.
        assert self.measuring.process is not None
        self._spent.append(self.measuring.process)
        self.measuring = self.ahead.popleft()
        self._begin()
        return True

    def clear(self) -> list[WorkerProcess]:
        idle = [*self._spent, *(one.process for one in self.ahead if one.process is not None)]
        self._spent = []
        self.ahead.clear()
        return idle

    async def prepare(
        self,
        first: Measure,
        others: Sequence[Measure],
        spawn: Callable[[Further], Awaitable[WorkerProcess | None]],
    ) -> None:
        """Let several processes build their arms in parallel, before any of them measures.

        spawn: starts a process and returns it; None if the run has ended. Raises OSError.
        """
        beside = [Further(request) for request in others]
        self.ahead.extend(beside)
        assert self.measuring.process is not None
        await self.measuring.process.send(first)
        for one in beside:
            if one not in self.ahead:
                return
            try:
                process = await spawn(one)
            except OSError:
                one.gone = True
                continue
            if process is None:
                return
            if one not in self.ahead and one is not self.measuring:
                await process.end()
        begun = time.monotonic()
        while late := [one for one in beside if one in self.ahead and not (one.ready or one.gone)]:
            if time.monotonic() - begun > PREPARING_S:
                break
            await asyncio.sleep(LOOK_S)
        for one in late:
            one.gone = True
            if one.process is not None:
                await one.process.end()
        self._begin()
