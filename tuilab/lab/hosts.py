"""Tracks the hosts that the user added to the lab: their state, and whether they can measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tuilab.model.arms import HERE, LOCAL
from tuilab.model.environment import whose
from tuilab.model.errors import InputError
from tuilab.model.events import Event, Log, Ready, Refused, Warming, WorkerExited
from tuilab.model.machine import Machine

EVERYWHERE = "everywhere"

Level = Literal["info", "error"]


@dataclass
class Host:
    name: str
    stage: str = "connecting"
    machine: Machine | None = None
    """None until the host's worker is ready."""
    problem: str = ""
    """Why the host is unavailable; "" if it is available."""
    environment: str = ""
    """The environment's definition as the user wrote it, `NAME=PATH[,VARIABLE=VALUE…]`; "" for a machine."""


@dataclass
class Hosts:
    """All hosts that the user added, in the order in which they were added. Excludes this machine."""

    known: dict[str, Host] = field(default_factory=dict)
    said: list[tuple[str, Level]] = field(default_factory=list)
    """Messages that the user has not seen, and their severity."""

    def add(self, name: str, environment: str = "") -> bool:
        """Add a host. Returns False if it was already added. Raises InputError for an invalid name.

        environment: the definition of a Python environment on this machine, as the user wrote it.
        """
        from tuilab.runner.ssh import command

        if name in (HERE, LOCAL):
            raise InputError("host", name, "another machine (this one is always included)")
        command(name)
        known = self.known.get(name)
        new = known is None or known.environment != environment
        if new or (known is not None and known.problem):
            self.known[name] = Host(name, environment=environment)
        return new

    @property
    def machines(self) -> Mapping[str, Machine]:
        """The known machines, by host name. A machine becomes known when the host's worker is ready."""
        return {name: host.machine for name, host in self.known.items() if host.machine is not None}

    @property
    def environments(self) -> tuple[str, ...]:
        """Names of the hosts that are Python environments on this machine."""
        return tuple(name for name, host in self.known.items() if host.environment)

    def reach(self, file: str) -> tuple[str, ...]:
        """Return the hosts that can measure the user's code in `file`; only environments on this machine can.
        If `file` is "", return all hosts.
        """
        return self.environments if file else tuple(self.known)

    def apply(self, event: Event) -> list[Log]:
        host = self.known.get(getattr(event, "origin", ""))
        if host is None:
            return []
        match event:
            case Warming():
                host.stage = event.stage
            case Ready():
                new = host.machine is None or bool(host.problem)
                host.machine, host.stage, host.problem = event.machine, "ready", ""
                return self._say(f"{host.name} is ready: {words(event.machine)}.", "info") if new else []
            case WorkerExited(expected=True):
                host.stage = "starting a fresh worker"
            case WorkerExited() | Refused():
                host.stage, host.problem = "unavailable", event.message
                text = f"{event.message.rstrip('.')}. The measured rounds are saved; measure again to retry."
                return self._say(text, "error")
        return []

    def tell(self) -> list[tuple[str, Level]]:
        said, self.said = self.said, []
        return said

    def _say(self, text: str, level: Level) -> list[Log]:
        self.said.append((text, level))
        return [Log(text=text, level=level, source="tuilab")]


def about(host: Host) -> str:
    if host.problem:
        return host.problem
    return words(host.machine) if host.machine is not None else f"{host.stage}…"


def words(machine: Machine) -> str:
    if said := whose(machine):
        return said
    return f"{', '.join(machine.gpu_names) or machine.cpu}, TensorFlow {machine.tensorflow}"


def stops_of_hosts(known: Sequence[str]) -> tuple[str, ...]:
    """Return the device slider's additional stops (positions): one per host, and one for all hosts
    together.
    """
    return (*known, EVERYWHERE) if known else ()


def hosts_at(stop: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the host names (as in `Arm.host`) for a stop of the device slider. A stop that names no host
    means this machine.
    """
    if stop == EVERYWHERE:
        return ("", *known)
    return (stop,) if stop in known else ("",)


def stop_of_hosts(hosts: Sequence[str]) -> str:
    """Return the device slider's stop for these hosts. Returns "" for this machine alone, because each of its
    devices has its own stop.
    """
    if tuple(hosts) == ("",):
        return ""
    return hosts[0] if len(hosts) == 1 else EVERYWHERE


def checked_hosts(words: Sequence[str], file: str = "") -> tuple[str, ...]:
    """Return the hosts that the user typed, with "" for this machine. Returns only this machine if the user
    typed none.

    file: path of the user's own code, which only this machine can measure; "" for a preset. Raises InputError
    for a name that ssh could misread, and for another machine if there is a `file`.
    """
    named = tuple(dict.fromkeys(HERE if word in (LOCAL, HERE) else word for word in words))
    for host in named:
        if host == HERE:
            continue
        from tuilab.runner.ssh import command

        command(host)
        if file:
            expected = f"{LOCAL}: {file} is a file on this machine and is not sent to others"
            raise InputError("--host", host, expected)
    return named or (HERE,)
