"""The other hosts of the lab: which there are, how each does, which are measured on."""

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
    """One host as its worker says."""

    name: str
    """As ssh knows it."""
    stage: str = "connecting"
    """What its worker does, in words."""
    machine: Machine | None = None
    """None until it is ready."""
    problem: str = ""
    """Why it is not to be had, "" where it is."""
    environment: str = ""
    """Of an environment of this machine, how it was named: `NAME=PATH[,VARIABLE=VALUE…]`; "" of a machine."""


@dataclass
class Hosts:
    """Every host that was added, in that order; this machine is none of them."""

    known: dict[str, Host] = field(default_factory=dict)
    """By name."""
    said: list[tuple[str, Level]] = field(default_factory=list)
    """Sentences that a user should see, and has not."""

    def add(self, name: str, environment: str = "") -> bool:
        """Know one more; False if it is known. Raises InputError for what can be no host's name.

        environment: of this machine, as a user names it.
        """
        from tuilab.runner.ssh import command

        if name in (HERE, LOCAL):
            raise InputError("host", name, "another machine; this one is always included")
        command(name)
        known = self.known.get(name)
        new = known is None or known.environment != environment
        if new or (known is not None and known.problem):
            self.known[name] = Host(name, environment=environment)
        return new

    @property
    def machines(self) -> Mapping[str, Machine]:
        """Return the machines of the hosts that are ready, or were."""
        return {name: host.machine for name, host in self.known.items() if host.machine is not None}

    @property
    def environments(self) -> tuple[str, ...]:
        """Those that are environments of this machine."""
        return tuple(name for name, host in self.known.items() if host.environment)

    def reach(self, file: str) -> tuple[str, ...]:
        """Return if that can be measured: every host; with a user's own file only the environments."""
        return self.environments if file else tuple(self.known)

    def apply(self, event: Event) -> list[Log]:
        """Take in what a host's worker says; returns lines for the log."""
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
                said = (
                    f"{event.message.rstrip('.')}. What was measured is kept; measure again to try it anew."
                )
                return self._say(said, "error")
        return []

    def tell(self) -> list[tuple[str, Level]]:
        """Return what a user should see and has not; seen from then on."""
        said, self.said = self.said, []
        return said

    def _say(self, text: str, level: Level) -> list[Log]:
        self.said.append((text, level))
        return [Log(text=text, level=level, source="tuilab")]


def about(host: Host) -> str:
    """Describe how a host is, in a line."""
    if host.problem:
        return host.problem
    return words(host.machine) if host.machine is not None else f"{host.stage}…"


def words(machine: Machine) -> str:
    """Describe what a host is, in a few words: its GPUs, or its processor."""
    if said := whose(machine):
        return said
    gpus = [gpu.description or gpu.name for gpu in machine.gpus]
    return f"{', '.join(gpus) or machine.cpu}, TensorFlow {machine.tensorflow}"


def stops_of_hosts(known: Sequence[str]) -> tuple[str, ...]:
    """Return what the device slider has alongside this machine's own devices: each host, and all together."""
    return (*known, EVERYWHERE) if known else ()


def hosts_at(stop: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the hosts that a stop stands for, by their names in `Arm.host`; any other is this machine."""
    if stop == EVERYWHERE:
        return ("", *known)
    return (stop,) if stop in known else ("",)


def stop_of_hosts(hosts: Sequence[str]) -> str:
    """Return the stop that stands for these hosts; "" if this machine's devices have stops of their own."""
    if tuple(hosts) == ("",):
        return ""
    return hosts[0] if len(hosts) == 1 else EVERYWHERE


def checked_hosts(words: Sequence[str], file: str = "") -> tuple[str, ...]:
    """Return hosts as a user typed them, by their names in `Arm.host`; this machine alone if none is
    given.

    file: of a user's own code. Raises InputError for a name that ssh could misread, and for any host but
    this one if there is such a file.
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
