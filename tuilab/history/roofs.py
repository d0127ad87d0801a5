"""What each machine was measured to do at most, kept next to the history until the machine changes."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.files import read_regular, write_bytes
from tuilab.model.roofline import Roofs
from tuilab.paths import data_folder, private_folder

LARGEST_FILE = 1_000_000


def known() -> tuple[Roofs, ...]:
    """Return the roofs of every machine that is known; what cannot be read is skipped."""
    try:
        files = sorted(folder().glob("*.json"))
    except OSError:
        return ()
    found = []
    for file in files:
        try:
            found.append(msgspec.json.decode(read_regular(file, LARGEST_FILE), type=Roofs))
        except (InputError, *UNDECODED):
            continue
    return tuple(found)


def keep(found: Roofs, better: Callable[[Roofs | None, Roofs], Roofs]) -> Roofs:
    """Keep the better of what is known and what was found; returns that. Raises OSError."""
    private_folder(folder().parent)
    private_folder(folder())
    before = next((roofs for roofs in known() if roofs.machine == found.machine), None)
    best = better(before, found)
    write_bytes(folder() / f"{best.machine}.json", msgspec.json.encode(best))
    return best


def folder() -> Path:
    """Return the folder in which they lie, without making it."""
    return data_folder() / "machines"
