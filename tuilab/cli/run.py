"""`tuilab run`: measures a preset and prints the answer."""

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn

import click

from tuilab.cli.choose import (
    Named,
    arm_options,
    as_markdown,
    details,
    host_option,
    make_resolver,
    model_options,
    quiet,
    subject_argument,
)
from tuilab.cli.environment import env_option, python_option
from tuilab.cli.exits import DONE, INTERRUPTED, NOT_CONFIRMED, WORKER_FAILED
from tuilab.cli.lab import with_lab
from tuilab.cli.options import against_option, columns, emit
from tuilab.cli.said import tell
from tuilab.interpreter import describe_same
from tuilab.lab import Lab
from tuilab.lab.resume import describe_rest, further
from tuilab.lab.roofs import held_against
from tuilab.model.environment import Environment
from tuilab.model.errors import InputError
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, BudgetName
from tuilab.report.markdown import document
from tuilab.report.text import Role, dressed, lines, table


@click.command()
@python_option
@subject_argument()
@arm_options
@model_options
@host_option
@env_option
@click.option(
    "--together",
    is_flag=True,
    help="One worker per device: measure one device at a time, then all at once, and compare.",
)
@against_option
@click.option("--check", is_flag=True, help="Exit with 4 unless every claim is confirmed.")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    named: Named,
    together: bool,
    budget: BudgetName,
    cold: bool,
    as_json: bool,
    check: bool,
    hosts: Sequence[str],
    envs: Sequence[Environment],
    against: str,
    **words: Any,
) -> None:
    """Measure PRESET: a name from `tuilab presets`, a preset file, your own path/to/file.py:name,
    or a model: FILE.keras, FILE.h5, the FOLDER of a SavedModel or FOLDER:SIGNATURE.
    """
    if together and named.subject.place:
        raise InputError("--together", named.words, "a preset")
    if together and envs:
        raise InputError("--together", envs[0].name, "no --env: environments take turns")
    choice = make_resolver(named, hosts, words, envs=envs, claimed=check)
    if same := describe_same(envs):
        tell(same)

    async def measure(lab: Lab) -> RunResult:
        return await lab.measure(await choice.resolve(lab), budget=budget, cold=cold, together=together)

    forks = BUDGET[budget].forks > 0 and not together and not envs
    measured = run_with_lab(measure, choice.hosts, envs, forks, choice.scope)
    finish(ctx, measured, as_json, against, check)


def run_with_lab(measure: Callable[[Lab], Awaitable[RunResult]], *place: Any) -> tuple[RunState, RunResult]:
    """Measure a run. place: the further arguments of `with_lab`. Returns the run's state and result."""

    async def both(lab: Lab) -> tuple[RunState, RunResult]:
        result = await measure(lab)
        return lab.state.shown, result

    return with_lab(both, *place)


def finish(
    ctx: click.Context,
    measured: tuple[RunState, RunResult],
    as_json: bool,
    against: str = "",
    check: bool = False,
) -> NoReturn:
    """Print a measured run, with the bounds for the GPU named `against`, and exit."""
    state, result = measured
    result = held_against(state, result, against)
    show(result, as_json)
    ctx.exit(exit_code(state, result, check))


def show(result: RunResult, as_json: bool) -> None:
    if as_json:
        emit(result)
    elif as_markdown():
        click.echo(document(result))
    elif width := columns():
        click.echo(dressed(list(lines(result, details=details(), most=width)), width, _style))
    else:
        click.echo(table(result, details=details()))


STYLES: dict[Role, dict[str, Any]] = {
    "answer": {"bold": True},
    "head": {"dim": True},
    "evidence": {"dim": True},
    "caveat": {"fg": "yellow"},
}
MARKS = {"✓": "green", "✗": "red", "⊘": "red"}


def _style(role: Role, line: str) -> str:
    if os.environ.get("NO_COLOR"):
        return line
    if role == "claim" and line[:1] in MARKS:
        return click.style(line, fg=MARKS[line[:1]])
    return click.style(line, **STYLES[role]) if role in STYLES and line else line


def _more_precise(state: RunState, result: RunResult) -> None:
    """Print the command that makes the run as precise as its budget requires, and the expected duration."""
    reached = result.confidence.half_width if result.confidence else None
    more = further(state, reached, state.budget) if state.budget else None
    if more is not None and state.machine is not None:
        tell(
            describe_rest(state, more, state.machine, f"`tuilab resume {result.run[:8]}` continues this run")
        )


def exit_code(state: RunState, result: RunResult, check: bool = False) -> int:
    """Return the exit code of a finished run, as listed in the README. Prints the run's errors."""
    if state.scenario is not None and state.scenario.file:
        # Print the traceback of each distinct error in user code.
        broken_arms = [arm for arm in state.arms.values() if arm.status == "failed" and arm.detail]
        for detail in {arm.reason: arm.detail for arm in reversed(broken_arms)}.values():
            click.echo(detail, err=True)
    broken = result.status == "failed" or (result.status == "ok" and bool(result.message))
    if broken:
        # If one of several hosts is lost, the run is incomplete but has not failed.
        tell(result.message)
    interrupted = result.status == "cancelled"
    if result.rounds and (broken or interrupted) and not state.where:
        tell(f"{result.rounds} rounds are saved; to continue: tuilab resume {result.run[:8]}")
    if interrupted:
        return INTERRUPTED
    if not broken and not quiet():
        _more_precise(state, result)
    # If every arm failed because the user's code raised an exception, there is no result.
    statuses = {arm.status for arm in result.arms}
    if broken or ("failed" in statuses and "ok" not in statuses):
        return WORKER_FAILED
    confirmed = all(claim.verdict == "confirmed" for claim in result.claims)
    return NOT_CONFIRMED if check and not confirmed else DONE
