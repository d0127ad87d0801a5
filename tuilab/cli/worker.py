"""`tuilab worker`: the remote end of the protocol, started through ssh."""

import os
import re

import click

from tuilab.cli.environment import chosen_environment, python_option
from tuilab.interpreter import worker_command
from tuilab.model.errors import InputError
from tuilab.runner.gpus import only


@click.command()
@python_option
@click.option("--only", "device", metavar="GPU:1", help="Open only this GPU; with CPU:0, open none.")
def worker(device: str | None) -> None:
    """Exchange protocol messages on standard input and output until standard input closes."""
    if device is not None and not re.fullmatch(r"[CG]PU:\d{1,3}", device):
        raise InputError("--only", device, "one device, such as GPU:1")
    command, env = worker_command(chosen_environment(), "tuilab.worker")
    os.execve(command[0], command, {**os.environ, **env, **(only(device) if device else {})})
