"""Measures one run with several workers, and merges their events. A policy decides when each worker
measures.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure, Painted, Request
from tuilab.runner.host import HostRunner, Listener
from tuilab.runner.policy import Policy
from tuilab.runner.process import contained

replace = msgspec.structs.replace


@dataclass
class Run:
    """A run of several workers. policies: the policy that controls each worker, by the worker's name.
    endings: the final events of the workers that have finished.

    timed: arms that have rounds. held: events that arrived before any worker had started the run.
    """

    request: Measure
    policies: dict[str, Policy]
    begun: bool = False
    machines: dict[str, Machine] = field(default_factory=dict)
    timed: set[str] = field(default_factory=set)
    held: list[e.Event] = field(default_factory=list)
    endings: dict[str, e.Finished] = field(default_factory=dict)


class Workers:
    """Runs several workers, with the interface of a single `Supervisor`.

    name_of: returns the name of the worker that measures an arm.
    """

    def __init__(
        self,
        on_event: Listener,
        names: Iterable[str],
        start: Callable[[str, Listener], HostRunner],
        name_of: Callable[[Arm], str],
    ) -> None:
        self._on_event = contained(on_event)
        self._start, self._name_of = start, name_of
        self.members: dict[str, HostRunner] = {}
        self._runs: dict[str, Run] = {}
        for name in names:
            self.add(name)

    def policies(self, parts: Mapping[str, Measure]) -> Sequence[Policy]:
        """Return the policies for the workers of a run. parts: each worker's part of the run, by the worker's
        name.
        """
        raise NotImplementedError

    def add(self, name: str) -> HostRunner:
        """Return the worker with that name, and create it if needed.

        The worker starts with `start` or with its first run. Raises InputError for an invalid host name.
        """
        if name not in self.members:
            self.members[name] = self._start(name, partial(self._receive, name))
        return self.members[name]

    @property
    def _first(self) -> HostRunner:
        return next(iter(self.members.values()))

    @property
    def machine(self) -> Machine | None:
        return self._first.machine

    async def start(self) -> None:
        """Start every worker that is down. Does not wait; each worker sends `Ready`. Raises OSError."""
        await asyncio.gather(*map(self._begin, self.members))

    async def _begin(self, name: str) -> None:
        await self.members[name].start()

    async def send(self, request: Request) -> None:
        """Send an acknowledgement to all workers, and any other request to the first worker."""
        members = self.members.values() if isinstance(request, Painted) else [self._first]
        await asyncio.gather(*(member.send(request) for member in members))

    async def measure(self, request: Measure) -> None:
        """Start a run on every worker that its arms need. Raises InputError for an invalid host name."""
        arms: dict[str, list[Arm]] = {}
        for arm in request.arms:
            arms.setdefault(self._name_of(arm), []).append(arm)
        if not arms:
            await self._first.measure(request)
            return
        policies = self.policies({name: replace(request, arms=tuple(own)) for name, own in arms.items()})
        self._runs[request.id] = Run(request, {name: policy for policy in policies for name in policy.parts})
        for policy in policies:
            await policy.start()

    async def cancel(self, run: str) -> None:
        if (known := self._runs.get(run)) is not None:
            await asyncio.gather(*(policy.cancel() for policy in set(known.policies.values())))
        else:
            await asyncio.gather(*(member.cancel(run) for member in self.members.values()))

    async def renew(self) -> None:
        await asyncio.gather(*(member.renew() for member in self.members.values()))

    async def close(self) -> None:
        await asyncio.gather(*(member.close() for member in self.members.values()))
        for run in self._runs.values():
            for policy in run.policies.values():
                policy.close()

    def kill_now(self) -> None:
        for member in self.members.values():
            member.kill_now()

    def _receive(self, name: str, event: e.Event) -> None:
        of = getattr(event, "run", None)
        runs = [run for identity, run in self._runs.items() if of in (None, identity)]
        policy = next((run.policies[name] for run in runs if name in run.policies), None)
        (policy.receive if policy is not None else self._tell)(name, event)

    def _tell(self, name: str, event: e.Event) -> None:
        run = self._runs.get(getattr(event, "run", ""))
        if run is not None and isinstance(event, e.Finished):
            self._finished(run, name, event)
        elif run is not None and isinstance(event, e.RunStarted) and event.worker == run.request.worker:
            self._began(run, name, event)
        else:
            self._on_event(event)

    def _began(self, run: Run, name: str, event: e.RunStarted) -> None:
        if not run.begun:
            run.begun = True
            self._on_event(replace(event, arms=run.request.arms, budget=run.request.budget))

    def _finished(self, run: Run, name: str, event: e.Finished) -> None:
        run.endings[name] = event
        if run.endings.keys() == run.policies.keys():
            del self._runs[event.run]
            self._on_event(merged(event.run, list(run.endings.values())))


def merged(run: str, endings: Sequence[e.Finished]) -> e.Finished:
    """Merge the final events of a run's workers.

    The run failed only if every part failed; it was cancelled if any part was cancelled.
    """
    statuses = {ending.status for ending in endings}
    status: e.Ending = "cancelled" if "cancelled" in statuses else "ok" if "ok" in statuses else "failed"
    reached = [ending.reached for ending in endings if ending.reached is not None]
    return e.Finished(
        run=run,
        roofs_due=any(ending.roofs_due for ending in endings),
        status=status,
        message="; ".join(dict.fromkeys(ending.message for ending in endings if ending.message)),
        detail="\n".join(dict.fromkeys(ending.detail for ending in endings if ending.detail)),
        elapsed_s=max(ending.elapsed_s for ending in endings),
        reached=max(reached, default=None),
    )
