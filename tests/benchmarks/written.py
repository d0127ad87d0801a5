"""The table of a benchmark: shown, and kept beside its module where `--write` is given."""

import sys
from pathlib import Path

IN_WORDS = "## In words"


def show(shown: str, title: str, module: str, about: str | None) -> None:
    """Print it; with `--write`, put title, what the module's docstring says behind its first line, and it into
    the Markdown file of the module's name. What a person wrote there under `## In words` stays.
    """
    print(shown)
    if "--write" in sys.argv:
        file = Path(module).with_suffix(".md")
        words = file.read_text().partition(IN_WORDS)[2] if file.exists() else ""
        text = f"# {title}\n\n" + (about or "").split("\n\n", 1)[1] + "\n" + shown
        file.write_text(text + (f"\n{IN_WORDS}{words}" if words else ""))
