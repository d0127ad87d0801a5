"""`tuilab resume`: continues an interrupted run, or makes a run more precise."""

import click

from tuilab.cli import completion
from tuilab.cli.choose import quiet_option
from tuilab.cli.environment import chosen_environment, python_option
from tuilab.cli.lab import open_history
from tuilab.cli.run import finish, run_with_lab
from tuilab.lab.resume import check_code, environments_of, request


@click.command()
@python_option
@quiet_option
@click.argument("run", shell_complete=completion.runs)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def resume(ctx: click.Context, /, run: str, as_json: bool) -> None:
    """Measure the missing parts of RUN, and add them to the run. RUN: the start of an id, or `last`.

    If the run is complete but less precise than its budget requires, it is measured in more processes. Sizes
    and hosts that have enough rounds and precision are skipped. The others are measured again in the same
    environments, and the new rounds are added. Your own code must not have changed since the run started.
    """
    with open_history() as kept:
        earlier = kept.state(run)
        kept.check_ended(earlier.run)
    check_code(earlier)
    hosts = tuple(dict.fromkeys(arm.host for arm in request(earlier).arms))
    envs = [one for one in environments_of(earlier) if one.name or chosen_environment() is None]

    finish(ctx, run_with_lab(lambda lab: lab.resume(earlier.run), hosts, envs), as_json)
