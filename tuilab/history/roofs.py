"""Stores the measured roofline limits ("roofs") of each machine until the machine changes."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.files import read_regular, write_bytes
from tuilab.model.roofline import Roofs
from tuilab.paths import data_folder, private_folder

LARGEST_FILE = 1_000_000


def load_roofs() -> tuple[Roofs, ...]:
    """Return the roofs of every known machine. Skips unreadable files."""
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
    """Save and return the better of the known and the new roofs. Raises OSError."""
    private_folder(folder().parent)
    private_folder(folder())
    before = next((roofs for roofs in load_roofs() if roofs.machine == found.machine), None)
    best = better(before, found)
    write_bytes(folder() / f"{best.machine}.json", msgspec.json.encode(best))
    return best


def folder() -> Path:
    return data_folder() / "machines"
