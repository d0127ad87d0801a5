"""The options that say in whose Python is measured."""

from collections.abc import Sequence

import click

from tuilab.interpreter import environment, environments
from tuilab.lab.hosts import checked_hosts
from tuilab.model.environment import Environment
from tuilab.model.errors import InputError

_PYTHON = "tuilab.python"


def _remember(ctx: click.Context, parameter: click.Parameter, value: str) -> None:
    if value:
        ctx.meta[_PYTHON] = value


python_option = click.option(
    "--python",
    metavar="PATH",
    default="",
    help="Measure with the TensorFlow of this Python, or of this virtual or conda environment.",
    expose_value=False,
    callback=_remember,
)
"""No command takes it as an argument: `chosen_environment` has it."""
env_option = click.option(
    "--env",
    "envs",
    metavar="NAME=PATH[,VARIABLE=VALUE]",
    multiple=True,
    help="Measure in this environment, by turns with the others named so; `.` is the lab's own.",
    callback=lambda ctx, parameter, words: environments(words),
)


def chosen_environment(tensorflow: bool = True) -> Environment | None:
    """Return the environment of `--python`, None where it is the lab's own.

    Raises InputError as `interpreter.environment`.
    """
    context = click.get_current_context(silent=True)
    place = context.meta.get(_PYTHON, "") if context else ""
    return environment(place, tensorflow=tensorflow) if place else None


def hosts_with(envs: Sequence[Environment], hosts: Sequence[str], file: str = "") -> tuple[str, ...]:
    """Return the hosts to measure on: environments by their names in `Arm.host`, and the others.

    file: of a person's own code. Raises InputError for a name that ssh could misread, or that both have.
    """
    names = tuple(one.name for one in envs)
    others = checked_hosts(hosts, file) if hosts or not names else ()
    twice = next((name for name in names if name in others), None)
    if twice is not None:
        raise InputError("--env", twice, "a name that no --host has")
    return (*names, *others)
