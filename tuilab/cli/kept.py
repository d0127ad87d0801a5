"""The store of runs as commands use it."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from tuilab.history.store import RunLine, Store
from tuilab.model.errors import InputError


@contextmanager
def store() -> Iterator[Store]:
    """The store, its messages said on standard error, closed at the end."""
    opened = Store.open()
    for message in opened.messages:
        click.echo(f"tuilab: {message}", err=True)
    try:
        yield opened
    finally:
        opened.close()


def find(opened: Store, start: str) -> RunLine:
    """The run whose id begins so; `last` is the latest. Raises InputError."""
    if start == "last":
        for line in opened.runs(limit=1):
            return line
    try:
        return opened.find(start)
    except KeyError:
        raise InputError(
            "run", start, "the beginning of exactly one id from `tuilab history`, or last"
        ) from None
