"""`tuilab import`: writes presets for the examples in a document."""

from pathlib import Path

import click

from tuilab.catalogue.load import LARGEST_FILE
from tuilab.cli.said import tell
from tuilab.documents import DocumentReport, dumps, write
from tuilab.lab.opening import read_document
from tuilab.model.errors import InputError
from tuilab.model.files import read_regular
from tuilab.model.preset import Preset
from tuilab.paths import own_folder


@click.command("import")
@click.argument("document", metavar="DOC")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the presets.",
)
@click.option("--preview", is_flag=True, help="Add claims found in the document's text; they may be wrong.")
@click.option("--overwrite", is_flag=True, help="Overwrite existing files that differ.")
def import_(document: str, folder: Path | None, overwrite: bool, preview: bool) -> None:
    """Write a preset for each benchmark in DOC, without running the benchmarks.

    DOC is a document as for `check`. Without -o, the presets are added to your own, which the lab lists after
    the bundled ones.
    """
    report = read_document(document, tell, preview=preview)
    target = folder or own_folder()
    if not report.presets:
        _say_gaps(report)
        raise InputError("DOC", document, "a document with a benchmark that tuilab can measure")
    kept = [preset.name for preset in report.presets if not _write_preset(preset, target, overwrite)]
    _say_gaps(report)
    if kept:
        raise InputError("-o", str(target), f"--overwrite, or a folder without {', '.join(kept)}")
    first = report.presets[0].name
    tell(f"to measure the first one: tuilab run {target / f'{first}.toml' if folder else first}")


def _write_preset(preset: Preset, folder: Path, overwrite: bool) -> bool:
    """Write a preset and print its path; return False if a file with that name exists."""
    target = folder / f"{preset.name}.toml"
    try:
        if target.exists() and not overwrite and read_regular(target, LARGEST_FILE) != dumps(preset).encode():
            return False
        click.echo(str(write(preset, folder)))
    except OSError as error:
        raise InputError("-o", str(folder), f"a writable folder ({error.strerror})") from None
    return True


def _say_gaps(report: DocumentReport) -> None:
    for example in report.examples:
        for part in example.unresolved:
            click.echo(f"tuilab: line {part.line}: {part.reason}", err=True)
