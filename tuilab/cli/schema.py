"""`tuilab schema`: prints the JSON Schema of a command's input or output."""

import click

from tuilab.cli.options import emit, one_of
from tuilab.report.schema import SCHEMAS
from tuilab.report.schema import schema as schema_of


@click.command()
@click.argument("what", type=one_of(list(SCHEMAS)))
def schema(what: str) -> None:
    """Print the JSON Schema of WHAT: the `--json` of a command, a preset file, an event or a request."""
    emit(schema_of(what))
