"""The `--python` option, which selects the Python environment that runs the worker."""

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
    help="Measure with the TensorFlow of this virtual or conda environment, or of this Python.",
    expose_value=False,
    callback=_remember,
)
"""The `--python` option. Commands get its value from `chosen_environment`, not as an argument."""
env_option = click.option(
    "--env",
    "envs",
    metavar="NAME=PATH[,VARIABLE=VALUE]",
    multiple=True,
    help="Measure in this environment, taking turns with the others; `.` is the lab's own.",
    callback=lambda ctx, parameter, words: environments(words),
)


def chosen_environment(tensorflow: bool = True) -> Environment | None:
    context = click.get_current_context(silent=True)
    place = context.meta.get(_PYTHON, "") if context else ""
    return environment(place, tensorflow=tensorflow) if place else None


def hosts_with(envs: Sequence[Environment], hosts: Sequence[str], file: str = "") -> tuple[str, ...]:
    """Return the names of all places to measure: first the environments, named as in `Arm.host`, then the
    other hosts.

    file: path of the user's code. Raises InputError if a place is named twice, or if ssh could interpret a
    name as an option.
    """
    names = tuple(one.name for one in envs)
    others = checked_hosts(hosts, file) if hosts or not names else ()
    twice = next((name for name in names if name in others), None)
    if twice is not None:
        raise InputError("--env", twice, "a name not used by --host")
    return (*names, *others)
