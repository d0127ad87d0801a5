"""Measures one run on several hosts, with a supervisor for each host, and merges their events."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from tuilab.model import events as e
from tuilab.model.arms import HERE, Arm
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.runner.host import HostRunner, Listener
from tuilab.runner.host_runner import supervise, unlike
from tuilab.runner.policy import Policy, unstarted
from tuilab.runner.turns import Turns
from tuilab.runner.workers import Run, Workers
from tuilab.spool import OWN

_NOT_FOUND = 127

replace = msgspec.structs.replace


class MultiHostRunner(Workers):
    """Runs workers on several hosts, with the interface of a single `Supervisor`.

    Arms name their host. Rounds of different hosts are not interleaved, and the hosts' clocks may differ. If
    a host disconnects, its arms end and the other hosts continue.
    """

    def __init__(
        self,
        on_event: Listener,
        hosts: Sequence[str] = (HERE,),
        start: Callable[[str, Listener], HostRunner] = supervise,
        here: Callable[[str], bool] = lambda host: host == HERE,
    ) -> None:
        """here: returns True if a host name belongs to a Python environment on this machine. Environments
        take turns.
        """
        self._here = here
        super().__init__(on_event, hosts, start, lambda arm: arm.host)

    @property
    def machines(self) -> Mapping[str, Machine]:
        return {host: s.machine for host, s in self.members.items() if s.machine is not None}

    async def _begin(self, name: str) -> None:
        """Start a host's worker. If that fails, raises OSError for this machine, and sends `WorkerExited` for
        another host.
        """
        try:
            await super()._begin(name)
        except OSError as error:
            if name == HERE:
                raise
            self._receive(name, e.WorkerExited(code=_NOT_FOUND, message=unstarted(name, error)))

    def policies(self, parts: Mapping[str, Measure]) -> Sequence[Policy]:
        """Return one policy for the Python environments on this machine, and one for the other hosts."""
        for host in parts:
            self.add(host)
        turns = {host: part for host, part in parts.items() if self._here(host)}
        turns = turns if len(turns) > 1 else {}
        others = {host: part for host, part in parts.items() if host not in turns}
        if set(parts) != {HERE}:
            # Each machine would save only its own part, but this process saves the whole run.
            others = {
                host: replace(part, spool=OWN if host != HERE and part.spool else "", finish=False)
                for host, part in others.items()
            }
        chosen: list[tuple[type[Policy], Mapping[str, Measure]]] = [(Turns, turns), (Policy, others)]
        return [kind(self.members, own, self._tell) for kind, own in chosen if own]

    def _receive(self, name: str, event: e.Event) -> None:
        if isinstance(event, e.Ready | e.Warming | e.WorkerExited | e.Refused):
            event = replace(event, origin=name)
        super()._receive(name, event)

    def _tell(self, name: str, event: e.Event) -> None:
        run = self._runs.get(getattr(event, "run", ""))
        if run is not None and isinstance(event, e.Round):
            run.timed.update(block.arm for block in event.blocks)
        elif run is not None and isinstance(event, e.Caveat) and not event.arm and len(run.policies) > 1:
            event = replace(event, message=f"{name or 'this machine'}: {event.message}")
        super()._tell(name, event)

    def _began(self, run: Run, name: str, event: e.RunStarted) -> None:
        super()._began(run, name, event)
        while run.held:
            self._on_event(run.held.pop(0))
        run.machines[name] = event.machine
        if run.policies.keys() != {HERE}:
            self._on_event(e.MachineJoined(run=event.run, host=name, machine=event.machine))
        if not any(isinstance(policy, Turns) for policy in run.policies.values()):
            for message in unlike(run.machines, name):
                self._on_event(e.Caveat(run=event.run, code="unlike-software", message=message))

    def _finished(self, run: Run, name: str, event: e.Finished) -> None:
        # If a worker on this machine ends, the run ends. If another host is lost, only its own arms end.
        if event.status == "failed" and run.policies.keys() != {HERE}:
            for arm in run.request.arms:
                if arm.host == name:
                    self._lost(run, arm, event)
        super()._finished(run, name, event)

    def _lost(self, run: Run, arm: Arm, ending: e.Finished) -> None:
        """Report that the host of an arm is lost. The arm's rounds stay valid."""
        told: e.Event = e.ArmStatus(run=ending.run, arm=arm.id, status="failed", reason=ending.message)
        if arm.id in run.timed:
            message = f"{ending.message}; the earlier rounds are kept"
            told = e.Caveat(run=ending.run, code="host-lost", arm=arm.id, message=message)
        if run.begun:
            self._on_event(told)
        else:
            run.held.append(told)
