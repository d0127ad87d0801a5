"""The prose check finds the faults that it should find, and no others."""

from pathlib import Path

import pytest

from tests.tools.prose import faults

LONG = " ".join(["word"] * 31) + ".\n"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.md", "The listener is told.\n", 1),
        ("a.md", LONG, 1),
        ("a.md", f"```text\n{LONG}```\n| {LONG} |\n", 0),
        ("a.md", "Set `told` to 1. There is no GPU here.\n", 0),
        ("a.py", "told = 1\n# The folder beside it.\n", 1),
        ("a.py", 'TEXT = "the host is no machine of ours"\n', 1),
        ("a.py", LONG.join(['"""', '"""\n']), 0),
        ("a.toml", 'title = "whoever reads"\n', 1),
    ],
)
def test_every_kind_of_fault_in_a_file_is_found(tmp_path: Path, name: str, text: str, found: int) -> None:
    (tmp_path / name).write_text(text)
    assert len(list(faults(tmp_path / name))) == found
