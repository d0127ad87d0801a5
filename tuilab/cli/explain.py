"""`tuilab explain`: where an op, or each op of a preset, runs, and why."""

import asyncio
import sys
from collections.abc import Sequence

import click
import msgspec

from tuilab import catalogue
from tuilab.cli.choose import Choice, choose
from tuilab.cli.narrate import Narrator
from tuilab.cli.session import Session
from tuilab.model.arms import Arm
from tuilab.model.errors import InputError
from tuilab.model.expand import expand
from tuilab.model.explain import ExplainOp, ExplainScenario, OpExplanation, ScenarioExplanation
from tuilab.model.machine import Machine
from tuilab.report.explained import op_text, scenario_text


@click.command()
@click.argument("name", metavar="OP|PRESET")
@click.option("--dtype", default="", help="The op's dtype, such as float32 or int32.")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Change a preset's parameter.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def explain(name: str, dtype: str, settings: Sequence[str], as_json: bool) -> None:
    """Say whether a GPU of this TensorFlow would run OP, or each op of PRESET, and why.

    Needs no GPU: the registry of kernels knows. Where there is a GPU, a preset is also run on it once.
    """
    if is_preset(name):
        if dtype:
            raise InputError("--dtype", dtype, "no dtype for a preset; use --set dtype=" + dtype)
        answer: msgspec.Struct = asyncio.run(ask_scenario(choose(name, settings)))
    else:
        if settings:
            raise InputError("--set", settings[0], f"a preset, which {name!r} is not")
        answer = asyncio.run(ask_op(ExplainOp(op=name, dtype=dtype)))
    show(answer, as_json)


def is_preset(name: str) -> bool:
    """Whether the word names a preset (or a preset file) rather than an op."""
    found = catalogue.load()
    names = [p.name for p in found.presets] + [p.name for p in found.problems]
    return name.endswith(".toml") or name in names


async def ask_op(question: ExplainOp) -> OpExplanation:
    """Ask a worker about one op. Raises InputError where it does not know the op or the dtype."""
    async with Session(Narrator()) as session:
        await session.machine()
        return [
            msgspec.json.decode(answer.body, type=OpExplanation)
            async for answer in session.ask("explain-op", question)
        ][-1]


async def ask_scenario(choice: Choice) -> ScenarioExplanation:
    """Ask a worker about each op of a preset."""
    async with Session(Narrator()) as session:
        question = ExplainScenario(
            scenario=choice.scenario, arms=representative(choice, await session.machine())
        )
        return [
            msgspec.json.decode(answer.body, type=ScenarioExplanation)
            async for answer in session.ask("explain-scenario", question)
        ][-1]


def representative(choice: Choice, machine: Machine) -> tuple[Arm, ...]:
    """One arm for each device and variant: as a graph if it can be one, its input resident."""
    devices = [d.name for d in machine.devices] or ["CPU:0"]
    every = expand(choice.preset.arms, choice.declaration, choice.scenario.parameters, devices)
    picked: dict[tuple[str, str], Arm] = {}
    for arm in sorted(every, key=lambda a: (a.mode != "graph", a.mode != "eager", a.input != "resident")):
        picked.setdefault((arm.device, arm.variant), arm)
    arms = sorted(picked.values(), key=lambda arm: (arm.device != "CPU:0", arm.device))
    if arms[0].device != "CPU:0":
        # Without a GPU only the CPU can show which ops there are.
        arms.insert(0, msgspec.structs.replace(arms[0], device="CPU:0", input="resident"))
    return tuple(arms)


def show(answer: msgspec.Struct, as_json: bool) -> None:
    """Print the answer to standard output."""
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(answer), indent=2) + b"\n")
    elif isinstance(answer, OpExplanation):
        click.echo(op_text(answer))
    else:
        assert isinstance(answer, ScenarioExplanation)
        click.echo(scenario_text(answer))
