"""Reading a document for a command: from a path or standard input, checked by the installed TensorFlow."""

import asyncio
import sys

import click
import msgspec

from tuilab.catalogue.validate import validate
from tuilab.documents import DocumentReport, api_tables, read
from tuilab.model.api import ApiTable
from tuilab.model.errors import InputError, WorkerError

STDIN = "-"


class _Nothing(msgspec.Struct):
    """A question without a body."""


def read_document(path: str, learn: bool = True) -> DocumentReport:
    """Read the document. Raises InputError.

    learn: where the names of the installed TensorFlow are not known yet, ask a worker for them, once.
    """
    api = api_tables.for_installed()
    if api is None and learn:
        api = _learn()
    if path == STDIN:
        data = sys.stdin.buffer.read()
        if not data.strip():
            raise InputError("standard input", "", "a document: Markdown, text, Python or a notebook")
        return read(data, api, validate=validate)
    return read(path, api, validate=validate)


def _learn() -> ApiTable | None:
    """Ask a worker for its TensorFlow's names and keep them; without one, go on without."""
    version = api_tables.installed_version()
    if not version:
        click.echo("tuilab: no TensorFlow is installed, so its names are not checked", err=True)
        return None
    click.echo(f"tuilab: asking TensorFlow {version} for its names, once", err=True)
    try:
        table = asyncio.run(_ask())
        api_tables.save(table)
        return table
    except (WorkerError, OSError) as error:
        click.echo(f"tuilab: names are not checked: {error}", err=True)
        return None


async def _ask() -> ApiTable:
    from tuilab.cli.narrate import Narrator
    from tuilab.cli.session import Session

    async with Session(Narrator()) as session:
        await session.machine()
        answers = [a async for a in session.ask("api-table", _Nothing())]
        return msgspec.json.decode(answers[-1].body, type=ApiTable)
