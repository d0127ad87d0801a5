"""The options that say what is measured and where, shared by every command that measures."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import click

from tuilab.cli import completion
from tuilab.lab import Lab
from tuilab.lab.hosts import checked_hosts
from tuilab.lab.settings import Settings, choose, choose_own, is_own, place_of
from tuilab.model.arms import INPUTS, MODES
from tuilab.model.scenario import BUDGETS


def chosen(
    name: str,
    hosts: Sequence[str],
    words: Mapping[str, Any],
    check: Callable[[Settings], object] = lambda settings: None,
) -> Callable[[Lab], Awaitable[Settings]]:
    """What the options choose, checked before a worker starts as far as that is possible without one.

    Of a person's own code only a worker can say what it declares. check: called with the settings, as soon
    as they are known. Raises InputError.
    """
    words = {**words}
    given = words.pop("settings")
    if not is_own(name):
        settings = choose(name, given, hosts, **words)
        check(settings)

        async def known(lab: Lab) -> Settings:
            return settings

        return known
    file = place_of(name)
    checked_hosts(hosts, file)

    async def own(lab: Lab) -> Settings:
        settings = choose_own(await lab.declare(file), file, given, hosts, **words)
        check(settings)
        return settings

    return own


def arm_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose what is measured, for a command's decorator."""
    many: dict[str, Any] = {"multiple": True}
    options = [
        click.option(
            "--set",
            "settings",
            metavar="NAME=VALUE",
            help="Change a parameter.",
            shell_complete=completion.settings,
            **many,
        ),
        click.option(
            "--device", "devices", metavar="CPU|GPU|GPU:1|GPU:*", help="Measure on this device only.", **many
        ),
        click.option("--mode", "modes", type=click.Choice(MODES), help="Measure this mode only.", **many),
        click.option("--input", "inputs", type=click.Choice(INPUTS), help="Where the input lives.", **many),
        click.option("--dtype", "dtypes", help="Arms of this dtype.", **many),
        click.option("--variant", "variants", help="Arms of this variant.", **many),
        click.option("--budget", type=click.Choice(BUDGETS), default="standard", show_default=True),
        click.option("--cold", is_flag=True, help="Rotate inputs too large for the cache."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        _remembered("--markdown", help="Print Markdown, as for the page of a CI job."),
        _remembered("--details", help="Print every caveat and all advice, not a summary."),
        _remembered("--quiet", "-q", help="Show no progress on standard error."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _remembered(*names: str, help: str) -> Callable[..., Any]:
    """A switch about what is said, not about what is measured: no command takes it as an argument."""

    def remember(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        ctx.meta[f"tuilab.{parameter.name}"] = value

    return click.option(*names, is_flag=True, expose_value=False, callback=remember, help=help)


def details() -> bool:
    """Whether `--details` was given."""
    return _meta("details")


def as_markdown() -> bool:
    """Whether `--markdown` was given."""
    return _meta("markdown")


def quiet() -> bool:
    """Whether `--quiet` was given."""
    return _meta("quiet")


def _meta(name: str) -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(f"tuilab.{name}"))


def host_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--host`, for a command's decorator."""
    return click.option(
        "--host",
        "hosts",
        metavar="HOST",
        multiple=True,
        help="Measure on this host, over ssh: an alias or user@host; `local` is this machine.",
    )(command)
