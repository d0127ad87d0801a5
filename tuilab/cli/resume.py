"""`tuilab resume`: go on with a run that was broken off where it stopped, or make one more precise."""

import click

from tuilab.cli import completion
from tuilab.cli.choose import quiet_option
from tuilab.cli.environment import chosen_environment, python_option
from tuilab.cli.lab import kept_runs, with_lab
from tuilab.cli.run import exit_code, show
from tuilab.lab import Lab
from tuilab.lab.resume import check_code, environments_of, request
from tuilab.model.result import RunResult
from tuilab.model.run import RunState


@click.command()
@python_option
@quiet_option
@click.argument("run", shell_complete=completion.runs)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def resume(ctx: click.Context, /, run: str, as_json: bool) -> None:
    """Measure what RUN is missing, into the same run. RUN: the beginning of an id, or `last`.

    One that is whole, but less precise than its budget asks, is measured in further processes.
    Sizes and hosts that have their rounds and precision are left as they are; the others are measured again,
    and their rounds added, in the environments that they were measured in. A file of your own code must be
    unchanged since the run began.
    """
    with kept_runs() as kept:
        earlier = kept.state(run)
    check_code(earlier)
    hosts = tuple(dict.fromkeys(arm.host for arm in request(earlier).arms))
    envs = [one for one in environments_of(earlier) if one.name or chosen_environment() is None]

    async def go_on(lab: Lab) -> tuple[RunState, RunResult]:
        result = await lab.resume(earlier.run)
        return lab.state.shown, result

    state, result = with_lab(go_on, hosts, envs)
    show(result, as_json)
    ctx.exit(exit_code(state, result))
