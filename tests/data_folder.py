"""Data that the test processes of a session share: the machine's roofs, and results that are computed
once.
"""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

MACHINES = "TUILAB_TESTS_MACHINES"
"""Environment variable with the folder of the roofs that this session's tests share."""


def knowing(folder: Path) -> str:
    """Create a data folder for TUILAB_DATA with the session's shared roofs.

    The first run in a data folder measures the machine's roofs, which takes longer than most tests. Outside a
    test session, nothing is shared.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if MACHINES in os.environ and not (folder / "machines").exists():
        (folder / "machines").symlink_to(os.environ[MACHINES])
    return str(folder)


def once(name: str, make: Callable[[Path], dict[str, str]]) -> dict[str, str]:
    """Return the result of `make`, which only the first process of this session calls. The other processes
    wait for the result.
    """
    folder = Path(os.environ[MACHINES]).parent / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = folder / "result.json"
        if not result.exists():
            result.write_bytes(msgspec.json.encode(make(folder)))
        return msgspec.json.decode(result.read_bytes(), type=dict[str, str])
