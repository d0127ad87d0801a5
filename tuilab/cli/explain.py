"""`tuilab explain`: where an op, or each op in a preset, runs, and why."""

from collections.abc import Sequence

import click
import msgspec

from tuilab import catalogue
from tuilab.cli.choose import Named, make_resolver, quiet_option, shapes_option, subject_argument
from tuilab.cli.environment import python_option
from tuilab.cli.lab import with_lab
from tuilab.cli.options import columns, emit
from tuilab.lab import Lab
from tuilab.lab.settings import Settings
from tuilab.model.errors import InputError
from tuilab.model.explain import ExplainOp, OpExplanation, ScenarioExplanation
from tuilab.model.subject import NamedPreset
from tuilab.report.explained import op_text, scenario_text


@click.command()
@python_option
@subject_argument("OP|PRESET|FILE.py:NAME")
@click.option("--dtype", default="", help="The op's dtype, such as float32 or int32.")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Change a preset's parameter.")
@shapes_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@quiet_option
def explain(named: Named, dtype: str, settings: Sequence[str], inputs: Sequence[str], as_json: bool) -> None:
    """Show whether a GPU would run OP, or each op of PRESET or of your own code, and why.

    Needs no GPU: the kernel registry has the answer. With a GPU, a preset also runs on it once.
    """
    name, subject = named
    if not isinstance(subject, NamedPreset) or is_preset(subject.name):
        if dtype:
            raise InputError("--dtype", dtype, "no dtype for a preset; use --set dtype=" + dtype)
        choice = make_resolver(named, (), {"settings": settings, "inputs": inputs})

        async def explain_op(lab: Lab) -> ScenarioExplanation:
            return await ask_scenario(lab, await choice.resolve(lab))

        answer: msgspec.Struct = with_lab(explain_op, scope=choice.scope)
    else:
        if settings:
            raise InputError("--set", settings[0], f"a preset; {name!r} is not a preset")
        answer = with_lab(
            lambda lab: lab.questions.ask("explain-op", ExplainOp(op=name, dtype=dtype), OpExplanation)
        )
    show(answer, as_json)


def is_preset(name: str) -> bool:
    presets = catalogue.load()
    names = [p.name for p in presets.presets] + [p.name for p in presets.problems]
    return name in names


async def ask_scenario(lab: Lab, settings: Settings) -> ScenarioExplanation:
    await lab.ready()
    return await lab.explain(settings)


def show(answer: msgspec.Struct, as_json: bool) -> None:
    if as_json:
        emit(answer)
    elif isinstance(answer, OpExplanation):
        click.echo(op_text(answer, columns()))
    else:
        assert isinstance(answer, ScenarioExplanation)
        click.echo(scenario_text(answer, columns()))
