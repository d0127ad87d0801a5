"""`tuilab presets`: lists the presets."""

from collections.abc import Sequence

import click
import msgspec

from tuilab import catalogue
from tuilab.cli.options import columns, emit
from tuilab.model.errors import InputError
from tuilab.model.search import contains
from tuilab.report.rows import cut


class PresetLine(msgspec.Struct, frozen=True, kw_only=True):
    """One preset, as listed for scripts. If its file is invalid, `error` is set and most fields are empty."""

    name: str
    title: str = ""
    workload: str = ""
    document: str = ""
    example: int = 0
    claims: tuple[str, ...] = ()
    error: str = ""


def lines(loaded: catalogue.Catalogue) -> list[PresetLine]:
    good = [
        PresetLine(
            name=p.name,
            title=p.title,
            workload=p.workload,
            document=p.source.document if p.source else "",
            example=p.source.example if p.source else 0,
            claims=tuple(c.text for c in p.claims),
        )
        for p in loaded.presets
    ]
    return good + [PresetLine(name=problem.name, error=str(problem)) for problem in loaded.problems]


def _contains(row: PresetLine, words: Sequence[str]) -> bool:
    return contains(" ".join(map(str, msgspec.structs.astuple(row))), " ".join(words))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("words", nargs=-1)
def presets(as_json: bool, words: tuple[str, ...]) -> None:
    """List the presets, and the preset files with errors.

    With WORDS, such as `matmul tensor`, list the presets that contain all of them in their name, title,
    workload, document or claims.

    Your own presets are the *.toml files in the folder `presets` of tuilab's configuration; on Linux, that is
    ~/.config/tuilab/presets.
    """
    rows = [row for row in lines(catalogue.load()) if _contains(row, words)]
    if words and not rows:
        raise InputError("presets", " ".join(words), "words of a preset; `tuilab presets` lists all")
    if as_json:
        emit(rows)
        return
    most = columns()
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        source = f"{row.document} {row.example or 'prose'}" if row.document else "own"
        text = f"{row.name:<{width}}  {source:<9}  {'not loaded: ' + row.error if row.error else row.title}"
        click.echo(cut(text, most) if most and not row.error else text)
