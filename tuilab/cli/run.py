"""`tuilab run`: measure a preset and print the answer."""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from tuilab.analysis.summary import summarise
from tuilab.cli.choose import Choice, arm_options, choose, choose_own, is_own
from tuilab.cli.exits import DONE, INTERRUPTED, NOT_CONFIRMED, WORKER_FAILED
from tuilab.cli.hosts_option import host_option
from tuilab.cli.hosts_option import hosts as checked_hosts
from tuilab.cli.narrate import Narrator
from tuilab.cli.session import Outcome, Session
from tuilab.model.errors import InputError
from tuilab.model.result import RunResult
from tuilab.model.scenario import BudgetName, Scenario, Sweep
from tuilab.report.text import table
from tuilab.runner.host_runner import HERE


@click.command()
@click.argument("preset")
@arm_options
@host_option
@click.option(
    "--together", is_flag=True, help="A worker for each device: one at a time, then all at once, compared."
)
@click.option("--check", is_flag=True, help="Exit with 4 unless every claim is confirmed.")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    preset: str,
    together: bool,
    budget: BudgetName,
    cold: bool,
    as_json: bool,
    check: bool,
    hosts: Sequence[str],
    **words: Any,
) -> None:
    """Measure PRESET: a name from `tuilab presets`, a preset file, or your own path/to/file.py:name."""
    if is_own(preset):
        if together:
            raise InputError("--together", preset, "a preset")
        outcome, result = asyncio.run(measure_own(preset, budget, cold, hosts, words))
        tell_failures(outcome)
    else:
        choice = choose(preset, **words)
        named = checked_hosts(hosts, choice.scenario)
        if together:
            from tuilab.cli.together import measure_together

            outcome, result = asyncio.run(measure_together(choice, budget, cold, named))
        else:
            outcome, result = asyncio.run(measure(choice, budget, choice.preset.sweep, cold, named))
    show(result, as_json)
    ctx.exit(exit_code(outcome, result, check))


async def measure_own(
    name: str,
    budget: BudgetName,
    cold: bool,
    hosts: Sequence[str],
    words: Mapping[str, Any],
    plan: Callable[[Choice], Sweep | None] = lambda choice: None,
) -> tuple[Outcome, RunResult]:
    """Start a worker, ask it what the file declares, measure, end it. plan: the sweep, if there is one."""
    path, _, function = name.rpartition(":")
    file = f"{Path(path).expanduser().resolve()}:{function}"
    checked_hosts(hosts, Scenario(function, {}, file))
    async with Session(Narrator()) as session:
        machine = await session.machine()
        choice = choose_own(await session.declare(file), file, **words)
        devices = [d.name for d in machine.devices]
        return await _measure(session, choice, devices, budget, plan(choice), cold)


def tell_failures(outcome: Outcome) -> None:
    """The tracebacks of a person's own code, each once, on standard error."""
    details = [arm.detail for arm in outcome.state.arms.values() if arm.status == "failed"]
    for detail in dict.fromkeys(filter(None, details)):
        click.echo(detail, err=True)


async def measure(
    choice: Choice,
    budget: BudgetName,
    sweep: Sweep | None = None,
    cold: bool = False,
    hosts: Sequence[str] = (HERE,),
) -> tuple[Outcome, RunResult]:
    """Start a worker on each host, measure, end them."""
    async with Session(Narrator(), hosts) as session:
        devices = {
            host: [d.name for d in machine.devices] for host, machine in (await session.machines()).items()
        }
        return await _measure(session, choice, devices, budget, sweep, cold)


async def _measure(
    session: Session,
    choice: Choice,
    devices: Sequence[str] | Mapping[str, Sequence[str]],
    budget: BudgetName,
    sweep: Sweep | None,
    cold: bool,
) -> tuple[Outcome, RunResult]:
    outcome = await session.run(choice.measure(devices, budget, sweep, cold))
    result = summarise(outcome.state, choice.preset.claims)
    session.conclude(outcome.state, result.answer)
    return outcome, result


def show(result: RunResult, as_json: bool) -> None:
    """Print the result to standard output."""
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    else:
        click.echo(table(result))


def exit_code(outcome: Outcome, result: RunResult, check: bool) -> int:
    """The exit code of a finished run, as the README's table states."""
    broken = result.status == "failed" or (result.status == "ok" and bool(result.message))
    if broken:
        # A run of several hosts is not failed where one of them ended, but it is not whole either.
        click.echo(f"tuilab: {result.message}", err=True)
    if result.rounds and (broken or outcome.interrupted) and not outcome.state.where:
        click.echo(
            f"tuilab: {result.rounds} rounds are kept; to go on: tuilab resume {result.run[:8]}", err=True
        )
    if outcome.interrupted:
        return INTERRUPTED
    # Where nothing ran because the code that was to run raised, there is no result to be content with.
    statuses = {arm.status for arm in result.arms}
    if broken or ("failed" in statuses and "ok" not in statuses):
        return WORKER_FAILED
    return NOT_CONFIRMED if check and not confirmed([c.verdict for c in result.claims]) else DONE


def confirmed(verdicts: Sequence[str]) -> bool:
    """Whether every claim was confirmed."""
    return all(verdict == "confirmed" for verdict in verdicts)
