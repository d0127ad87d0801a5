"""The option that says on which hosts to measure."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from tuilab.model.errors import InputError
from tuilab.model.scenario import Scenario
from tuilab.runner.host_runner import HERE

LOCAL = "local"


def host_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--host`, for a command's decorator; pass its value through `hosts`."""
    return click.option(
        "--host",
        "hosts",
        metavar="HOST",
        multiple=True,
        help="Measure there, through the system's ssh: an alias or user@host; `local` is this machine.",
    )(command)


def hosts(words: Sequence[str], scenario: Scenario) -> tuple[str, ...]:
    """The hosts by their names in `Arm.host`, this machine alone where none is given.

    Raises InputError for a name that ssh could misread, and where the scenario is a person's own function.
    """
    named = tuple(dict.fromkeys(HERE if word in (LOCAL, HERE) else word for word in words))
    for host in named:
        if host == HERE:
            continue
        from tuilab.runner.ssh import command

        command(host)
        if scenario.file:
            raise InputError(
                "--host",
                host,
                f"{LOCAL}: {scenario.file} is a file on this machine and is not sent to others",
            )
    return named or (HERE,)
