"""Messages on standard error, wrapped if it is a terminal."""

import contextlib
import shutil
import sys
import textwrap

import click

from tuilab.model.quantity import HELD, keep_on_line


def say(text: str) -> None:
    """Print a line to standard error. Raises OSError or ValueError if standard error is closed."""
    click.echo(broken(f"tuilab: {text}"), err=True)


def tell(text: str) -> None:
    """Print a line to standard error, unless it is closed."""
    with contextlib.suppress(OSError, ValueError):
        say(text)


def broken(text: str) -> str:
    """Wrap the text to the width of the terminal on standard error; return it unchanged without a terminal.

    Keeps words that are longer than a line, such as paths, so that users can copy them.
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
