"""Prints a benchmark's table. With `--write`, also writes it next to the benchmark's module."""

import sys
from pathlib import Path

IN_WORDS = "## In words"


def show(shown: str, title: str, module: str, about: str | None) -> None:
    """Print the table. With `--write`, also write a Markdown file named after the module.

    The file starts with the title and the module's docstring without its first line. Keeps a section `## In
    words` of an existing file.
    """
    print(shown)
    if "--write" in sys.argv:
        file = Path(module).with_suffix(".md")
        words = file.read_text().partition(IN_WORDS)[2] if file.exists() else ""
        text = f"# {title}\n\n" + (about or "").split("\n\n", 1)[1] + "\n" + shown
        file.write_text(text + (f"\n{IN_WORDS}{words}" if words else ""))
