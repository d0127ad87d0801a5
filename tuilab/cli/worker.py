"""`tuilab worker`: the far end of the protocol, as started through ssh."""

import os
import re

import click

from tuilab.model.errors import InputError
from tuilab.runner.gpus import only
from tuilab.runner.process import local_command


@click.command()
@click.option("--only", "device", metavar="GPU:1", help="Open this GPU and no other; none for CPU:0.")
def worker(device: str | None) -> None:
    """Speak the protocol on standard input and output until standard input closes."""
    if device is not None and not re.fullmatch(r"[CG]PU:\d{1,3}", device):
        raise InputError("--only", device, "one device, such as GPU:1")
    command = local_command()
    os.execve(command[0], command, {**os.environ, **(only(device) if device else {})})
