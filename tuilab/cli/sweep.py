"""`tuilab sweep`: measure a preset over a range of sizes, and say where one arm overtakes another."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from tuilab.catalogue.plan import parse_axis, usual_sweep
from tuilab.catalogue.validate import check_sweep
from tuilab.cli.choose import Choice, arm_options, choose, is_own
from tuilab.cli.fleet import fleet_options, on_fleet
from tuilab.cli.hosts_option import host_option
from tuilab.cli.hosts_option import hosts as checked_hosts
from tuilab.cli.run import exit_code, measure, measure_own, show, tell_failures
from tuilab.model.errors import InputError
from tuilab.model.scenario import BudgetName, Sweep


@click.command()
@click.argument("preset")
@click.option(
    "--axis",
    "axes",
    metavar="NAME=FROM:TO:xFACTOR",
    multiple=True,
    help="A parameter and its values, also as FROM:TO:STEP or a list; at most two. Else the preset's own.",
)
@click.option("--no-refine", is_flag=True, help="Measure these sizes alone, none around a crossover.")
@arm_options
@host_option
@fleet_options
@click.option("--check", is_flag=True, help="Exit with 4 unless every claim is confirmed.")
@click.pass_context
def sweep(
    ctx: click.Context,
    /,
    preset: str,
    axes: Sequence[str],
    no_refine: bool,
    budget: BudgetName,
    cold: bool,
    as_json: bool,
    check: bool,
    hosts: Sequence[str],
    on: str | None,
    jobs: int,
    **words: Any,
) -> None:
    """Measure PRESET (or your own path/to/file.py:name) at many sizes; find where another arm wins."""
    if on is not None and (hosts or is_own(preset)):
        raise InputError(
            "--on", on, "a preset and no --host: a person's own file is not sent to other machines"
        )
    if is_own(preset):
        planned = partial(plan, axes=axes, refine=not no_refine)
        outcome, result = asyncio.run(measure_own(preset, budget, cold, hosts, words, planned))
        tell_failures(outcome)
    else:
        choice = choose(preset, **words)
        chosen = plan(choice, axes, not no_refine)
        if on is not None:
            outcome, result = on_fleet(on, jobs, lambda fleet: fleet.sweep(choice, budget, chosen, cold))
        else:
            named = checked_hosts(hosts, choice.scenario)
            outcome, result = asyncio.run(measure(choice, budget, chosen, cold, named))
    show(result, as_json)
    ctx.exit(exit_code(outcome, result, check))


def plan(choice: Choice, axes: Sequence[str], refine: bool) -> Sweep:
    """The sweep that a person asked for, checked. Raises InputError."""
    declaration = choice.declaration
    if not axes:
        usual = usual_sweep(choice.preset, declaration)
        return Sweep(axes=usual.axes, refine=usual.refine and refine)
    sweep = Sweep(axes=tuple(parse_axis(declaration, axis) for axis in axes), refine=refine)
    check_sweep(sweep, declaration)
    return sweep
