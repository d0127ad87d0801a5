"""A worker for one device of its machine, which opens no GPU but its own."""

from functools import partial

from tuilab.model.arms import HERE, family
from tuilab.model.machine import OPEN_GPUS
from tuilab.runner.host_runner import Listener
from tuilab.runner.supervisor import Supervisor


def only(device: str) -> dict[str, str]:
    """Describe what to set so that a worker opens this GPU alone, by its machine's number; nothing for a
    CPU.
    """
    return {OPEN_GPUS: device.partition(":")[2] if family(device) == "GPU" else ""}


def supervise_device(host: str, device: str, on_event: Listener) -> Supervisor:
    """Supervise workers for one device of a host. Raises InputError for what can be no host's name."""
    name = f"{host or 'this machine'}, {device}"
    if host == HERE:
        return Supervisor(on_event, env=only(device), name=name)
    from tuilab.runner import ssh

    command = ssh.command(host, ("--only", device))
    return Supervisor(on_event, command, explain=partial(ssh.explain, host), name=name)
