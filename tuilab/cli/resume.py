"""`tuilab resume`: go on with a run that was broken off, where it stopped."""

import click

from tuilab.cli import completion
from tuilab.cli.lab import store, with_lab
from tuilab.cli.run import exit_code, show
from tuilab.lab import Lab
from tuilab.lab.history import find
from tuilab.lab.resume import check_code, request
from tuilab.model.result import RunResult
from tuilab.model.run import RunState


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def resume(ctx: click.Context, /, run: str, as_json: bool) -> None:
    """Measure what RUN is missing, into the same run. RUN: the beginning of an id, or `last`.

    Sizes and hosts that have their rounds and precision are left as they are; the others are measured again,
    and their rounds added. A file of your own code must be unchanged since the run began.
    """
    with store() as kept:
        earlier = kept.state(find(kept, run).run)
    check_code(earlier)
    hosts = tuple(dict.fromkeys(arm.host for arm in request(earlier).arms))

    async def go_on(lab: Lab) -> tuple[RunState, RunResult]:
        result = await lab.resume(earlier.run)
        return lab.state.shown, result

    state, result = with_lab(go_on, hosts)
    show(result, as_json)
    ctx.exit(exit_code(state, result))
