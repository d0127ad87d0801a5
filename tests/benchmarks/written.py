"""The table of a benchmark: shown, and kept beside its module where `--write` is given."""

import sys
from pathlib import Path


def show(shown: str, title: str, module: str, about: str | None) -> None:
    """Print it; with `--write`, put title, what the module's docstring says behind its first line, and it into
    the Markdown file of the module's name.
    """
    print(shown)
    if "--write" in sys.argv:
        text = f"# {title}\n\n" + (about or "").split("\n\n", 1)[1] + "\n" + shown
        Path(module).with_suffix(".md").write_text(text)
