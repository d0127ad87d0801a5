"""A worker for one device that opens no other GPU."""

from functools import partial

from tuilab.model.arms import HERE, family
from tuilab.model.machine import OPEN_GPUS
from tuilab.runner.host_runner import Listener
from tuilab.runner.supervisor import Supervisor


def only(device: str) -> dict[str, str]:
    """Return the settings with which a worker opens only this GPU, given its number on the machine; empty for
    a CPU.
    """
    return {OPEN_GPUS: device.partition(":")[2] if family(device) == "GPU" else ""}


def supervise_device(host: str, device: str, on_event: Listener) -> Supervisor:
    """Return a supervisor of workers for one device of a host. Raises InputError for an invalid host name."""
    name = f"{host or 'this machine'}, {device}"
    if host == HERE:
        return Supervisor(on_event, env=only(device), name=name)
    from tuilab.runner import ssh

    command = ssh.command(host, ("--only", device))
    return Supervisor(on_event, command, explain=partial(ssh.explain, host), name=name)
