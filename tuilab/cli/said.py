"""What is said to a person on standard error, broken between words where that is a terminal."""

import contextlib
import shutil
import sys
import textwrap

import click

from tuilab.model.quantity import HELD, held


def say(text: str) -> None:
    """Say it on standard error. Raises OSError, ValueError where nobody is there to read it."""
    click.echo(broken(f"tuilab: {text}"), err=True)


def tell(text: str) -> None:
    """Say it on standard error, if anybody is there to read it."""
    with contextlib.suppress(OSError, ValueError):
        say(text)


def broken(text: str) -> str:
    """Return the text broken between words to standard error's width; as it is where that is no terminal.

    A word that is longer, such as a path, stays whole, so that it can be copied.
    """
    if not sys.stderr.isatty():
        return text
    most = shutil.get_terminal_size().columns
    return "\n".join(_lines(line, most) for line in text.split("\n"))


def _lines(line: str, most: int) -> str:
    if len(line) <= most:
        return line
    filled = textwrap.fill(held(line), most, break_on_hyphens=False, break_long_words=False)
    return filled.replace(HELD, " ")
