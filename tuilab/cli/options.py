"""Helpers that several commands share without loading the lab: an option, the output's width and file."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from tuilab.model.datasheets import name_of, sheet
from tuilab.model.errors import InputError

against_option = click.option(
    "--against",
    default="",
    metavar="GPU",
    callback=lambda ctx, parameter, value: name_of(sheet(value)) if value else "",
    help="The best case on this GPU, from its data sheet: h100, rtx4090, …",
)


def columns() -> int:
    """Return the terminal's width; 0 without a terminal, where nothing is shortened or wrapped."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def file_or_output(ctx: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Return the file given by an option; `-` gives None, which means standard output."""
    return None if path == Path("-") else path


def not_over(option: str, file: Path | None, sources: Iterable[Path | str]) -> None:
    """Raise InputError if the file given by an option is one of the sources, which would be overwritten."""
    if file is not None and any(_same(file, source) for source in sources):
        raise InputError(option, str(file), "a file that is not also an input")


def _same(file: Path, other: Path | str) -> bool:
    try:
        return os.path.samefile(file, other)
    except (OSError, ValueError):
        return False
