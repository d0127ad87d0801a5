"""Small helpers for commands. They do not import the lab."""

import os
import shutil
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from tuilab.model.datasheets import SHEETS, name_of, sheet
from tuilab.model.errors import InputError
from tuilab.model.files import indented
from tuilab.model.quantity import size

one_of = partial(click.Choice, case_sensitive=False)
"""The type of an option or argument with a fixed set of values, which users may type in any case."""


def _known_gpu(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    """Return tuilab's name for a GPU. For `help`, list all known GPUs and exit."""
    if value == "help":
        for name, gpu in SHEETS.items():
            click.echo(f"{name:<8} {gpu.name}, {gpu.family}, {size(gpu.memory.value)}")
        ctx.exit()
    return name_of(sheet(value)) if value else ""


against_option = click.option(
    "--against",
    default="",
    metavar="GPU",
    callback=_known_gpu,
    help="Show the best case on this GPU, computed from its data sheet: h100, rtx4090, …; `help` lists all.",
)


def emit(data: Any) -> None:
    click.echo(indented(data))


def columns() -> int:
    """Return the terminal's width in columns; 0 without a terminal, which means that lines are not
    shortened or wrapped.
    """
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def file_or_output(ctx: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Return the path given by an option; None for `-`, which means standard output."""
    return None if path == Path("-") else path


def not_over(option: str, file: Path | None, sources: Iterable[Path | str]) -> None:
    """Raise InputError if `file` is one of the sources, which the command would overwrite."""
    if file is not None and any(_same(file, source) for source in sources):
        raise InputError(option, str(file), "a file that is not also an input")


def _same(file: Path, other: Path | str) -> bool:
    try:
        return os.path.samefile(file, other)
    except (OSError, ValueError):
        return False
