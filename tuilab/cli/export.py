"""`tuilab export`: a run as a document."""

from pathlib import Path

import click

from tuilab import catalogue
from tuilab.analysis.summary import summarise
from tuilab.cli.kept import find, store
from tuilab.model.claims import Claim
from tuilab.model.errors import InputError
from tuilab.report.formats import FORMATS


@click.command()
@click.argument("run")
@click.option("--format", "format_", type=click.Choice(list(FORMATS)), default="markdown", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file instead of standard output.",
)
def export(run: str, format_: str, output: Path | None) -> None:
    """Write RUN (the beginning of an id from `tuilab history`, or `last`) as a document."""
    with store() as kept:
        state = kept.state(find(kept, run).run)
    result = summarise(state, claims_of(state.preset))
    text = FORMATS[format_][1](result, state)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


def claims_of(preset: str) -> tuple[Claim, ...]:
    """The claims of a preset that is still there."""
    try:
        return catalogue.load().find(preset).claims
    except InputError:
        return ()
