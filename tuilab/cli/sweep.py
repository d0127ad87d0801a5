"""`tuilab sweep`: measures over a range of sizes, and finds where one arm overtakes another."""

from collections.abc import Sequence
from typing import Any

import click

from tuilab.cli.choose import (
    Named,
    arm_options,
    check_claims,
    host_option,
    make_resolver,
    model_options,
    pop_opening,
    subject_argument,
)
from tuilab.cli.environment import env_option, hosts_with, python_option
from tuilab.cli.fleet import fleet_options, on_fleet
from tuilab.cli.lab import with_lab
from tuilab.cli.options import against_option
from tuilab.cli.run import exit_code, show
from tuilab.lab import Lab
from tuilab.lab.presets import preset_of
from tuilab.lab.roofs import held_against
from tuilab.lab.settings import choose, chosen_sweep
from tuilab.model.environment import Environment
from tuilab.model.errors import InputError
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.model.scenario import BudgetName


@click.command()
@python_option
@subject_argument()
@click.option(
    "--axis",
    "axes",
    metavar="NAME=FROM:TO:xFACTOR",
    multiple=True,
    help="A parameter and its values, as FROM:TO:STEP or a list; at most two. [default: the preset's own]",
)
@click.option("--no-refine", is_flag=True, help="Measure only these sizes; do not refine around a crossover.")
@arm_options
@model_options
@host_option
@env_option
@fleet_options
@against_option
@click.option("--check", is_flag=True, help="Exit with 4 unless every claim is confirmed.")
@click.pass_context
def sweep(
    ctx: click.Context,
    /,
    named: Named,
    axes: Sequence[str],
    no_refine: bool,
    budget: BudgetName,
    cold: bool,
    as_json: bool,
    check: bool,
    hosts: Sequence[str],
    envs: Sequence[Environment],
    on: str | None,
    jobs: int,
    against: str,
    **words: Any,
) -> None:
    """Measure PRESET (or your own path/to/file.py:name) at many sizes and find the crossover."""
    refine = not no_refine
    if on is not None:
        if hosts or envs or named.subject.place:
            raise InputError(
                "--on", on, "a preset and no --host: your own file is not sent to other machines"
            )
        pop_opening(words)
        settings = choose(preset_of(*named), given=words.pop("settings"), **words)
        if check:
            check_claims(named.words, settings)
        planned = chosen_sweep(settings, axes, refine)
        state, result = on_fleet(on, jobs, lambda fleet: fleet.sweep(settings, planned, budget, cold))
    else:
        choice = make_resolver(
            named,
            hosts,
            words,
            envs=envs,
            check=lambda settings: chosen_sweep(settings, axes, refine),
            claimed=check,
        )

        async def measure(lab: Lab) -> tuple[RunState, RunResult]:
            result = await lab.sweep(await choice.resolve(lab), axes, budget=budget, cold=cold, refine=refine)
            return lab.state.shown, result

        state, result = with_lab(measure, hosts_with(envs, hosts), envs, scope=choice.scope)
    result = held_against(state, result, against)
    show(result, as_json)
    ctx.exit(exit_code(state, result, check))
