"""Measures several hosts as one run: one supervisor per host, with merged events."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import msgspec

from tuilab.model import events as e
from tuilab.model.arms import HERE, Arm
from tuilab.model.machine import Machine
from tuilab.model.requests import Cancel, Measure, Painted, Request
from tuilab.runner.host_runner import HostRunner, Listener, supervise, unlike
from tuilab.runner.process import contained
from tuilab.runner.supervisor import Phase
from tuilab.runner.turns import Member, Turns
from tuilab.spool import OWN

_NOT_FOUND = 127
"""The shell's exit code for a missing program."""


@dataclass
class _Shared:
    """A run on several hosts: the hosts that are still measuring, and the results of the others.

    timed: arms that have rounds. held: events that arrived before any host had started the run.
    """

    waiting: set[str]
    request: Measure
    begun: bool = False
    machines: dict[str, Machine] = field(default_factory=dict)
    timed: set[str] = field(default_factory=set)
    held: list[e.Event] = field(default_factory=list)
    endings: dict[str, e.Finished] = field(default_factory=dict)

    @property
    def hosts(self) -> set[str]:
        """All hosts of the run."""
        return {arm.host for arm in self.request.arms}


class MultiHostRunner:
    """Workers on several hosts behind the interface of one `Supervisor`.

    Arms name their host. Rounds of different hosts are not interleaved, and their clocks may differ. If a
    host disconnects, its arms end and the other hosts continue.
    """

    def __init__(
        self,
        on_event: Listener,
        hosts: Sequence[str] = (HERE,),
        start: Callable[[str, Listener], HostRunner] = supervise,
        here: Callable[[str], bool] = lambda host: host == HERE,
    ) -> None:
        """here: returns whether a host name is an environment of this machine; environments take turns."""
        self._here = here
        self._turns: dict[str, Turns] = {}
        self._on_event = contained(on_event)
        self._start = start
        self.members: dict[str, HostRunner] = {}
        self._runs: dict[str, _Shared] = {}
        for host in hosts:
            self.add(host)

    def add(self, host: str) -> HostRunner:
        """Return the member for a host, creating it if needed. Its worker starts with `start` or with its
        first run.

        Raises InputError for an invalid host name.
        """
        if host not in self.members:
            self.members[host] = self._start(host, partial(self._receive, host))
        return self.members[host]

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The machine of each host that has been ready."""
        return {host: s.machine for host, s in self.members.items() if s.machine is not None}

    @property
    def machine(self) -> Machine | None:
        """The first host's machine."""
        return next(iter(self.members.values())).machine

    @property
    def busy(self) -> bool:
        """True if any host is busy."""
        return any(member.busy for member in self.members.values())

    @property
    def phase(self) -> Phase:
        """The first host's phase; busy if any other host is busy."""
        own = next(iter(self.members.values())).phase
        return "busy" if own == "ready" and self.busy else own

    async def start(self) -> None:
        """Start a worker on each host without one. Does not wait; each worker sends `Ready`.

        A host that cannot start is reported as `WorkerExited`; raises OSError if that is this machine.
        """
        await asyncio.gather(*(self._start_on(h) for h, m in self.members.items() if m.phase == "down"))

    async def _start_on(self, host: str) -> None:
        try:
            await self.members[host].start()
        except OSError as error:
            if host == HERE:
                raise
            self._receive(host, e.WorkerExited(code=_NOT_FOUND, message=_unstarted(host, error)))

    async def send(self, request: Request) -> None:
        """Send a run to the hosts of its arms, a stop or an acknowledgement to all hosts, and any other
        request to the first host.
        """
        if isinstance(request, Measure):
            await self.measure(request)
        elif isinstance(request, Cancel):
            await self.cancel(request.id)
        elif isinstance(request, Painted):
            await asyncio.gather(*(member.send(request) for member in self.members.values()))
        else:
            await next(iter(self.members.values())).send(request)

    async def measure(self, request: Measure) -> None:
        """Queue a run on every host in its arms. Raises InputError for an invalid host name."""
        arms: dict[str, list[Arm]] = {}
        for arm in request.arms:
            arms.setdefault(arm.host, []).append(arm)
        if not arms:
            await next(iter(self.members.values())).measure(request)
            return
        members = {host: self.add(host) for host in arms}
        alone = set(arms) == {HERE}
        here = {host: member for host, member in members.items() if self._here(host)}
        self._runs[request.id] = _Shared(set(arms), request)
        if len(here) > 1:
            parts = {host: msgspec.structs.replace(request, arms=tuple(arms[host])) for host in here}
            turns = self._turns[request.id] = Turns(cast(Mapping[str, Member], here), parts, self._tell)
            await turns.start()
            members = {host: member for host, member in members.items() if host not in here}
        for host, member in members.items():
            try:
                await member.start()
            except OSError as error:
                failed = e.Finished(run=request.id, status="failed", message=_unstarted(host, error))
                self._receive(host, failed)
            else:
                part = msgspec.structs.replace(request, arms=tuple(arms[host]))
                if not alone:
                    # Each machine would save only its own part, but this process saves the whole run.
                    own = OWN if host != HERE and request.spool else ""
                    part = msgspec.structs.replace(part, spool=own, finish=False)
                await member.measure(part)

    async def cancel(self, run: str) -> None:
        """Stop a run on every host."""
        turns = self._turns.get(run)
        if turns is not None:
            await turns.cancel()
        others = [m for host, m in self.members.items() if turns is None or host not in turns.hosts]
        await asyncio.gather(*(member.cancel(run) for member in others))

    async def close(self) -> None:
        """End every worker."""
        await asyncio.gather(*(member.close() for member in self.members.values()))

    def kill_now(self) -> None:
        """Kill every worker without waiting."""
        for member in self.members.values():
            member.kill_now()

    def _receive(self, host: str, event: e.Event) -> None:
        if isinstance(event, e.Ready | e.Warming | e.WorkerExited | e.Refused):
            event = msgspec.structs.replace(event, origin=host)
        turns = next((t for run, t in self._turns.items() if self._concerns(t, run, host, event)), None)
        if turns is not None:
            turns.receive(host, event)
        else:
            self._tell(host, event)

    @staticmethod
    def _concerns(turns: Turns, run: str, host: str, event: e.Event) -> bool:
        return host in turns.hosts and getattr(event, "run", run) == run

    def _tell(self, host: str, event: e.Event) -> None:
        shared = self._runs.get(getattr(event, "run", ""))
        if shared is None:
            self._on_event(event)
        elif isinstance(event, e.Finished):
            self._finished(shared, host, event)
        elif isinstance(event, e.RunStarted) and event.worker == shared.request.worker:
            self._began(shared, host, event)
        else:
            if isinstance(event, e.Round):
                shared.timed.update(block.arm for block in event.blocks)
            elif isinstance(event, e.Caveat) and not event.arm and len(shared.hosts) > 1:
                message = f"{host or 'this machine'}: {event.message}"
                event = msgspec.structs.replace(event, message=message)
            self._on_event(event)

    def _began(self, shared: _Shared, host: str, event: e.RunStarted) -> None:
        if not shared.begun:
            shared.begun = True
            whole = msgspec.structs.replace(event, arms=shared.request.arms, budget=shared.request.budget)
            self._on_event(whole)
            for held in shared.held:
                self._on_event(held)
        shared.machines[host] = event.machine
        if shared.hosts != {HERE}:
            self._on_event(e.MachineJoined(run=event.run, host=host, machine=event.machine))
        unlike_others = [] if event.run in self._turns else unlike(shared.machines, host)
        for message in unlike_others:
            self._on_event(e.Caveat(run=event.run, code="unlike-software", message=message))

    def _finished(self, shared: _Shared, host: str, event: e.Finished) -> None:
        shared.waiting.discard(host)
        shared.endings[host] = event
        # If a worker on this machine ends, the run ends; if another host is lost, only its own arms end.
        if event.status == "failed" and shared.hosts != {HERE}:
            for arm in shared.request.arms:
                if arm.host == host:
                    self._lost(shared, arm, event)
        if not shared.waiting:
            del self._runs[event.run]
            self._turns.pop(event.run, None)
            self._on_event(merged(event.run, list(shared.endings.values())))

    def _lost(self, shared: _Shared, arm: Arm, ending: e.Finished) -> None:
        """Report that the host of an arm is lost. The arm's rounds stay valid."""
        told: e.Event = e.ArmStatus(run=ending.run, arm=arm.id, status="failed", reason=ending.message)
        if arm.id in shared.timed:
            message = f"{ending.message}; the earlier rounds are kept"
            told = e.Caveat(run=ending.run, code="host-lost", arm=arm.id, message=message)
        if shared.begun:
            self._on_event(told)
        else:
            shared.held.append(told)


def _unstarted(host: str, error: OSError) -> str:
    program = f"{error.filename}: " if error.filename else ""
    return f"{host or 'the worker'} cannot be started: {program}{error.strerror}"


def merged(run: str, endings: Sequence[e.Finished]) -> e.Finished:
    """Return the end of a run on several hosts: failed only if every host failed, cancelled if any was."""
    statuses = {ending.status for ending in endings}
    status: e.Ending = "cancelled" if "cancelled" in statuses else "ok" if "ok" in statuses else "failed"
    reached = [ending.reached for ending in endings if ending.reached is not None]
    return e.Finished(
        run=run,
        roofs_due=any(ending.roofs_due for ending in endings),
        status=status,
        message="; ".join(dict.fromkeys(ending.message for ending in endings if ending.message)),
        detail="\n".join(ending.detail for ending in endings if ending.detail),
        elapsed_s=max(ending.elapsed_s for ending in endings),
        reached=max(reached, default=None),
    )
