"""Saves the latest verdict on each preset's claims, by machine, for the marks in the list of presets."""

import json
from pathlib import Path
from typing import get_args

from tuilab.lab.files import LARGEST, at_once, write_private
from tuilab.model.claims import VerdictWord

WORDS = get_args(VerdictWord)


def read(folder: Path, machine: str) -> dict[str, VerdictWord]:
    """Return the saved verdicts of a machine, by preset; {} if the file is unreadable. machine: the machine's
    key.
    """
    return _all(folder).get(machine, {})


def keep(folder: Path, machine: str, verdicts: dict[str, VerdictWord]) -> None:
    """Replace the machine's saved verdicts. Does nothing if the file cannot be written."""
    write_private(_file(folder), json.dumps({**_all(folder), machine: verdicts}))


def _file(folder: Path) -> Path:
    return folder / "verdicts.json"


def _all(folder: Path) -> dict[str, dict[str, VerdictWord]]:
    try:
        with at_once(_file(folder)) as file:
            found = json.loads(file.read(LARGEST))
        return {
            str(key): {str(name): word for name, word in of_machine.items() if word in WORDS}
            for key, of_machine in found.items()
        }
    # the file is missing, unreadable or invalid
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return {}
