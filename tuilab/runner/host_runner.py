"""Starts the supervisor of a host, and compares the software of hosts."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from tuilab.interpreter import worker_command
from tuilab.model.arms import HERE
from tuilab.model.environment import Environment
from tuilab.model.machine import Machine
from tuilab.runner.gpus import only
from tuilab.runner.host import Listener
from tuilab.runner.process import local_end
from tuilab.runner.supervisor import Supervisor


def supervise(
    host: str,
    on_event: Listener,
    environments: Mapping[str, Environment] = MappingProxyType({}),
    forks: bool = False,
    scope: str = "",
    device: str = "",
) -> Supervisor:
    """Return a supervisor for this machine (host ""), a Python environment on it, or a host reached through
    ssh.

    environments: the Python environments on this machine, by host name. forks: True if the next run will fork
    processes. scope: files that the first worker on this machine may open. device: the only device that the
    workers open; "" for all. Raises InputError for an invalid host name.
    """
    if (own := environments.get(host)) is not None:
        command, env = worker_command(own, "tuilab.worker")
        return Supervisor(on_event, command, env, partial(_ended_in, own), host, scope=scope)
    name = f"{host or 'this machine'}, {device}" if device else host
    if host == HERE:
        opened = only(device) if device else None
        return Supervisor(on_event, env=opened, name=name, forks=forks, scope=scope)
    # Import here, because a lab without other hosts does not need this module.
    from tuilab.runner import ssh

    command = ssh.command(host, ("--only", device) if device else ())
    return Supervisor(on_event, command, explain=partial(ssh.explain, host), name=name)


def _ended_in(environment: Environment, code: int, last_words: Sequence[str]) -> str:
    return f"{environment.name or environment.folder}: {local_end(code, last_words)}"


def unlike(machines: Mapping[str, Machine], host: str) -> list[str]:
    """Return a sentence for each software version that differs between this host and the first host."""
    first = next(iter(machines))
    a, b = machines[first], machines[host]
    out = []
    for name, word in (("tensorflow", "TensorFlow"), ("python", "Python"), ("tuilab", "tuilab")):
        here, there = getattr(a, name), getattr(b, name)
        if here != there:
            out.append(f"{first or 'this machine'} has {word} {here}, {host or 'this machine'} {there}")
    return out
