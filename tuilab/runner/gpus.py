"""A worker for one device of its machine, which sees no GPU but its own."""

import os
from collections.abc import Mapping
from functools import partial

from tuilab.model.arms import family
from tuilab.runner.host_runner import HERE, Listener
from tuilab.runner.supervisor import Supervisor

VISIBLE = "CUDA_VISIBLE_DEVICES"
NONE = "-1"


def only(device: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What to set so that CUDA shows only the GPU that TensorFlow calls `device` here; none at all for a CPU.

    Numbers count through what the environment shows already, so a share given by a queue is kept.
    """
    if family(device) != "GPU":
        return {VISIBLE: NONE}
    number = int(device.partition(":")[2])
    shown = environment.get(VISIBLE)
    if shown is None:
        return {VISIBLE: str(number)}
    names = [name.strip() for name in shown.split(",")]
    return {VISIBLE: names[number] if number < len(names) else NONE}


def supervise_device(host: str, device: str, on_event: Listener, beside_gpus: bool = True) -> Supervisor:
    """A supervisor of workers for one device of a host; one for a GPU sees it as `GPU:0` and no other.

    beside_gpus: other workers use GPUs, so one for a CPU is kept off them. The far end of ssh sets what CUDA
    shows, because only it knows what is set there. Raises InputError for what can be no host's name.
    """
    restrict = beside_gpus or family(device) == "GPU"
    name = f"{host or 'this machine'}, {device}"
    if host == HERE:
        return Supervisor(on_event, env=only(device, os.environ) if restrict else None, name=name)
    from tuilab.runner import ssh

    command = ssh.command(host, ("--only", device) if restrict else ())
    return Supervisor(on_event, command, explain=partial(ssh.explain, host), name=name)


def inside(device: str) -> str:
    """What a worker of `supervise_device` calls its device."""
    return "GPU:0" if family(device) == "GPU" else device
