"""A runner without a process. It sends payloads in the form of a worker's events."""

import asyncio
from collections.abc import Callable, Iterator

import msgspec

from tests.hostile import scene
from tests.hostile.payloads import Supply
from tests.tui.scripted import ScriptedRunner
from tuilab.model import events
from tuilab.model.events import Answer, Declared, Event, Log, Ready, Refused, Warming, WorkerExited
from tuilab.model.requests import Ask, Declare, Measure
from tuilab.model.sanitize import sanitize


def through_the_door(event: Event) -> Event:
    """Return an event as it arrives from another process: encoded, decoded and sanitized."""
    return sanitize(events.decode(events.encode(event)))


class HostileRunner(ScriptedRunner):
    """Sends only hostile text. nodes, logs: number of placement rows and of log lines in a run."""

    def __init__(
        self, on_event: Callable[[Event], None], supply: Supply, *, nodes: int = 60, logs: int = 60
    ) -> None:
        self.supply = supply
        self._many = {"nodes": nodes, "logs": logs}
        super().__init__(lambda event: on_event(through_the_door(event)), scene.machine(supply))

    async def start(self) -> None:
        self._on_event(Warming(stage=self.supply.text(), elapsed_s=0.0))
        for _ in range(20):
            self._on_event(Log(text=self.supply.text(), source=self.supply.text()))
        self.machine = through_the_door(Ready(machine=self.answers, import_s=1, start_s=1)).machine  # type: ignore[union-attr]
        self._on_event(Ready(machine=self.answers, import_s=1, start_s=1))

    def add(self, host: str) -> object:
        self._on_event(Warming(stage=self.supply.text(), elapsed_s=0.0, origin=host))
        self._on_event(Ready(machine=scene.machine(self.supply), import_s=1, start_s=1, origin=host))
        self._on_event(WorkerExited(code=1, message=self.supply.text(), origin=host))
        return None

    def _batches(self, request: Measure) -> Iterator[list[Event]]:
        return scene.batches(request, self.answers, self.supply, **self._many)

    def _declare(self, request: Declare) -> None:
        if request.file.endswith(":refused"):
            self._on_event(Refused(request=request.id, message=self.supply.text(), detail=self.supply.text()))
            return
        declared = scene.declaration(self.supply, request.file.rpartition(":")[2])
        self._on_event(Declared(request=request.id, file=request.file, declaration=declared))

    def _answer(self, request: Ask) -> None:
        answers = {"profile": scene.profile, "explain-scenario": scene.forecast}
        body = msgspec.Raw(msgspec.json.encode(answers[request.kind](self.supply)))
        self._on_event(Answer(request=request.id, kind=request.kind, body=body))

    def refuse(self) -> None:
        self._on_event(Refused(request="", message=self.supply.text(), detail=self.supply.text()))

    async def measure(self, request: Measure) -> None:
        self.measured.append(request)
        self._tasks[request.id] = asyncio.ensure_future(self._play(request))
