"""`tuilab sweep`: measures over a range of sizes, and finds where one arm overtakes another."""

from collections.abc import Sequence
from typing import Any

import click

from tuilab.cli.choose import Named, arm_options, host_option, make_resolver, model_options, subject_argument
from tuilab.cli.environment import env_option, python_option
from tuilab.cli.fleet import fleet_options, on_fleet
from tuilab.cli.options import against_option
from tuilab.cli.run import finish, run_with_lab
from tuilab.lab import Lab
from tuilab.lab.settings import Settings, chosen_sweep
from tuilab.model.environment import Environment
from tuilab.model.errors import InputError
from tuilab.model.result import RunResult
from tuilab.model.scenario import BudgetName, Sweep


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
    if on is not None and (hosts or envs or named.subject.place):
        raise InputError("--on", on, "a preset and no --host: your own file is not sent to other machines")

    def planned(settings: Settings) -> Sweep:
        return chosen_sweep(settings, axes, not no_refine)

    choice = make_resolver(named, hosts, words, envs=envs, check=planned, claimed=check)

    async def measure(lab: Lab) -> RunResult:
        settings = await choice.resolve(lab)
        return await lab.sweep(settings, planned(settings), budget=budget, cold=cold)

    if on is not None and (preset := choice.settings) is not None:
        measured = on_fleet(on, jobs, lambda fleet: fleet.sweep(preset, planned(preset), budget, cold))
    else:
        measured = run_with_lab(measure, choice.hosts, envs, False, choice.scope)
    finish(ctx, measured, as_json, against, check)
