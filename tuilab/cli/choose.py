"""Options for what and where to measure, shared by all measuring commands."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import click
import msgspec

from tuilab.cli import completion
from tuilab.cli.environment import hosts_with
from tuilab.cli.options import one_of
from tuilab.lab import Lab
from tuilab.lab.naming import resolve
from tuilab.lab.presets import preset_of
from tuilab.lab.settings import Settings, choose
from tuilab.model.arms import INPUTS, MODES
from tuilab.model.environment import Environment
from tuilab.model.errors import InputError
from tuilab.model.files import expanded, open_regular
from tuilab.model.requests import scope
from tuilab.model.scenario import AS_IT_IS, BUDGETS, Opening
from tuilab.model.shapes import EXAMPLE, checked, parse, text_of
from tuilab.model.subject import Model, Subject


class Named(NamedTuple):
    words: str
    subject: Subject


class Choice(NamedTuple):
    settings: Settings | None
    """None for the user's code, whose parameters only a worker knows."""
    declare: Callable[[Lab], Awaitable[Settings]]
    """Asks a worker to open the user's code, and returns its settings."""
    hosts: tuple[str, ...]
    """Names of all places to measure, as in `hosts_with`."""
    scope: str
    """Restricts which files the first worker may open; see `tuilab.model.requests.scope`."""

    async def resolve(self, lab: Lab) -> Settings:
        return self.settings or await self.declare(lab)


def subject_argument(metavar: str = "PRESET") -> Callable[..., Any]:
    return click.argument(
        "named",
        metavar=metavar,
        shell_complete=completion.presets,
        callback=lambda ctx, parameter, words: Named(words, resolve(words)),
    )


def make_resolver(
    named: Named,
    hosts: Sequence[str],
    words: Mapping[str, Any],
    check: Callable[[Settings], object] = lambda settings: None,
    envs: Sequence[Environment] = (),
    claimed: bool = False,
) -> Choice:
    """Turn the options into settings: for a preset at once, for the user's code when `resolve` is called.

    check: called with the settings as soon as they are known. envs: environments to measure in, in addition
    to the hosts. claimed: require at least one claim. Raises InputError.
    """
    words = {**words}
    given = words.pop("settings")
    opening = _pop_opening(words)
    name, subject = named
    if opening.inputs and not subject.place:
        expected = "FILE.py:NAME or a model; for a preset, use --set"
        raise InputError("--input", text_of(opening.inputs[0]), expected)
    if msgspec.structs.replace(opening, inputs=()) != AS_IT_IS and not isinstance(subject, Model):
        raise InputError(
            "--trust, --code, --data", name, "a model: FILE.keras, FILE.h5 or FOLDER[:SIGNATURE]"
        )
    file = subject.place
    settings = None if file else choose(preset_of(name, subject), given=given, **words)
    places = hosts_with(envs, hosts, file)

    def chosen(settings: Settings) -> Settings:
        settings = replace(settings, hosts=places)
        check(settings)
        return settings

    async def declare(lab: Lab) -> Settings:
        preset, own = await lab.find(name, subject, opening)
        return chosen(choose(preset, own, given, **words))

    choice = Choice(settings and chosen(settings), declare, places, scope(file, opening) if file else "")
    if claimed and (settings is None or not settings.preset.claims):
        expected = "a preset with a claim; `tuilab presets` lists them"
        raise InputError("--check", name, expected, f"{name} has no claim to check; expected {expected}")
    return choice


def _pop_opening(words: dict[str, Any]) -> Opening:
    """Remove the options for opening a model file from `words`, and return them. Raises InputError."""
    trust, code, data = words.pop("trust", False), words.pop("code", ""), words.pop("data", "")
    for path in (code, data):
        if path:
            open_regular(expanded(path)).close()
    shapes = [parse(word) for word in words.get("inputs", ()) if "=" in word]
    words["inputs"] = tuple(word for word in words.get("inputs", ()) if "=" not in word)
    code, data = (str(expanded(path).resolve()) if path else "" for path in (code, data))
    return Opening(trust, code, data, checked(shapes))


class InputWord(click.ParamType[str]):
    name = "input"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if "=" in value:
            return value
        if value.lower() not in INPUTS:
            self.fail(
                f"{value!r} is not one of 'resident', 'copied' or a shape such as a={EXAMPLE}.", param, ctx
            )
        return value.lower()


shapes_option = click.option(
    "--input",
    "inputs",
    multiple=True,
    type=InputWord(),
    metavar="resident|copied|NAME=DTYPE[SIZES]",
    help=f"Input location, or an argument's shape such as a={EXAMPLE}; named dimensions become sliders.",
)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def combine(*options: Decorator) -> Decorator:
    def given(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return given


def _define_switch(*names: str, help: str) -> Callable[..., Any]:
    """Return a decorator that adds a switch for the output. The switch's value is in click's context, not
    in an argument.
    """

    def remember(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        ctx.meta[f"tuilab.{parameter.name}"] = value

    return click.option(*names, is_flag=True, expose_value=False, callback=remember, help=help)


quiet_option = _define_switch("--quiet", "-q", help="Show no progress on standard error.")
model_options = combine(
    click.option("--trust", is_flag=True, help="Run Python code contained in a model's file."),
    click.option(
        "--code", default="", metavar="FILE.py", help="Python file that defines a model's custom objects."
    ),
    click.option("--data", default="", metavar="FILE.npz", help="A model's inputs, by name or in order."),
)
_many = partial(click.option, multiple=True)


def _each(change: Callable[[str], str]) -> Callable[[click.Context, click.Parameter, Sequence[str]], Any]:
    return lambda context, parameter, words: tuple(map(change, words))


arm_options = combine(
    _many(
        "--set",
        "settings",
        metavar="NAME=VALUE",
        help="Change a parameter.",
        shell_complete=completion.settings,
    ),
    _many(
        "--device",
        "devices",
        metavar="CPU|GPU|GPU:1|GPU:*",
        callback=_each(str.upper),
        help="Measure on this device only.",
    ),
    _many("--mode", "modes", type=one_of(MODES), help="Measure this mode only."),
    shapes_option,
    _many("--dtype", "dtypes", callback=_each(str.lower), help="Measure this dtype only."),
    _many("--variant", "variants", help="Measure this variant only."),
    click.option("--budget", type=one_of(BUDGETS), default="standard", show_default=True),
    click.option("--cold", is_flag=True, help="Cycle through inputs that together exceed the cache."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    _define_switch("--markdown", help="Print Markdown, for example for the summary of a CI job."),
    _define_switch("--details", help="Print every caveat and all advice instead of a summary."),
    quiet_option,
)
host_option = click.option(
    "--host",
    "hosts",
    metavar="HOST",
    multiple=True,
    help="Measure on this host, over ssh: an alias or user@host; `local` is this machine.",
)


def details() -> bool:
    return _meta("details")


def as_markdown() -> bool:
    return _meta("markdown")


def quiet() -> bool:
    return _meta("quiet")


def _meta(name: str) -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(f"tuilab.{name}"))
