"""`tuilab export`: a run as a document."""

from pathlib import Path

import click

from tuilab.cli import completion
from tuilab.cli.lab import store
from tuilab.lab.history import find
from tuilab.lab.results import document_of
from tuilab.lab.settings import claims_of
from tuilab.model.files import write_text
from tuilab.report.formats import FORMATS


@click.command()
@click.argument("run", shell_complete=completion.runs)
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
        line = find(kept, run)
        parts = document_of(format_, kept, line.run, claims_of(line.preset))
        if output is None:
            for part in parts:
                click.echo(part, nl=False)
        else:
            write_text(output, parts)
