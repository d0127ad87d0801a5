import click
import msgspec

from tuilab.cli.choose import quiet_option
from tuilab.cli.environment import python_option
from tuilab.cli.exits import DONE, FINDINGS
from tuilab.cli.lab import with_lab
from tuilab.cli.options import emit, one_of
from tuilab.lab import Lab
from tuilab.model.errors import WorkerError
from tuilab.model.selftest import NAMES, Check, Selftest, SelftestSummary


class SelfTestReport(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `tuilab selftest --json` prints."""

    checks: tuple[Check, ...]
    passed: bool
    idle: bool
    seconds: float
    message: str


@click.command()
@python_option
@quiet_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--long", is_flag=True, help="Repeat each check five times as often, for publication.")
@click.option(
    "--only",
    type=one_of(NAMES),
    multiple=True,
    help="Run only this check; repeatable.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the simulated trials.")
@click.pass_context
def selftest(ctx: click.Context, /, as_json: bool, long: bool, only: tuple[str, ...], seed: int) -> None:
    report = with_lab(lambda lab: ask(lab, Selftest(long=long, seed=seed, only=only), quiet=as_json))
    if as_json:
        emit(report)
    else:
        click.echo(report.message)
    ctx.exit(DONE if report.passed else FINDINGS)


async def ask(lab: Lab, question: Selftest, quiet: bool = False) -> SelfTestReport:
    """Run a worker's self-test. Unless `quiet`, print the result of each check as soon as it is known."""
    checks: list[Check] = []
    async for answer in lab.questions.answers("selftest", question):
        if answer.kind == "SelftestSummary":
            end = msgspec.json.decode(answer.body, type=SelftestSummary)
            return SelfTestReport(
                checks=tuple(checks),
                passed=end.passed,
                idle=end.idle,
                seconds=end.seconds,
                message=end.message,
            )
        checks.append(msgspec.json.decode(answer.body, type=Check))
        if not quiet:
            click.echo(line(checks[-1]))
    raise WorkerError("the self-test ended without its summary")


def line(check: Check) -> str:
    width = max(len(name) for name in NAMES)
    figure = "–" if check.figure is None else f"{check.figure:.4g}"
    word = "ok    " if check.passed else "FAILED"
    return f"{word}  {check.name:<{width}}  {figure:>9}  ({check.limit})\n        {check.message}"
