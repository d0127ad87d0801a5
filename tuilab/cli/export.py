"""`tuilab export`: writes a run as a document."""

from pathlib import Path

import click

from tuilab.cli import completion
from tuilab.cli.lab import open_history
from tuilab.cli.options import file_or_output, one_of
from tuilab.model.errors import InputError
from tuilab.model.files import printable_path, write_text
from tuilab.model.program import PREFIX
from tuilab.report.formats import FORMATS

SHORT = {"md": "markdown", "htm": "html"}
"""Maps a short format name, which may also be a file suffix, to the full name."""


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--format",
    "format_",
    type=one_of([*FORMATS, *SHORT]),
    default=None,
    show_default="by the file suffix, else markdown",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=file_or_output,
    help="Write to this file instead of standard output.",
)
def export(run: str, format_: str | None, output: Path | None) -> None:
    """Write RUN (the beginning of an id from `tuilab history`, or `last`) as a document.

    A watched program is named by its id from `tuilab history programs`, which begins with w.
    """
    ending = output.suffix[1:].lower() if output is not None else ""
    if output is not None and ending and not format_ and ending not in (*FORMATS, *SHORT, "txt"):
        endings = ", ".join(f".{name}" for name in (*FORMATS, *SHORT) if name != "markdown")
        raise InputError(
            "--output", printable_path(output), f"a suffix that names a format ({endings}), or --format"
        )
    asked = format_ or ending
    format_ = SHORT.get(asked, asked) if asked in (*FORMATS, *SHORT) else "markdown"
    if run.startswith(PREFIX):
        _program(run, format_, output)
        return
    with open_history() as kept:
        parts = kept.document(run, format_)
        if output is None:
            for part in parts:
                click.echo(part, nl=False)
        else:
            write_text(output, parts)


def _program(start: str, format_: str, output: Path | None) -> None:
    from tuilab.lab.watch import load_page
    from tuilab.report import program

    if format_ not in program.FORMATS:
        raise InputError("--format", format_, f"for a watched program, one of {', '.join(program.FORMATS)}")
    text = program.FORMATS[format_](load_page(start))
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(output, [text])
