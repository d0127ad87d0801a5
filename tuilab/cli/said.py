"""Messages on standard error, wrapped if it is a terminal."""

import contextlib
import shutil
import sys
import textwrap

import click

from tuilab.model.quantity import HELD, keep_on_line


def say(text: str) -> None:
    """Print to standard error. Raises OSError or ValueError if it is closed."""
    click.echo(broken(f"tuilab: {text}"), err=True)


def tell(text: str) -> None:
    """Print to standard error if it is open."""
    with contextlib.suppress(OSError, ValueError):
        say(text)


def broken(text: str) -> str:
    """Wrap the text to the width of standard error; leave it unchanged without a terminal.

    A word that is longer than the line, such as a path, is not broken, so that it can be copied.
    """
    if not sys.stderr.isatty():
        return text
    most = shutil.get_terminal_size().columns
    return "\n".join(_lines(line, most) for line in text.split("\n"))


def _lines(line: str, most: int) -> str:
    if len(line) <= most:
        return line
    filled = textwrap.fill(keep_on_line(line), most, break_on_hyphens=False, break_long_words=False)
    return filled.replace(HELD, " ")
