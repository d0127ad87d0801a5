"""The workloads, one module each. New modules are discovered, so adding a workload changes no other file."""

import contextlib
import importlib
import io
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize_error
from tuilab.workloads.base import Workload

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "tuilab.workloads"


@cache
def shipped() -> dict[str, Workload]:
    found = {}
    for module in pkgutil.iter_modules(__path__):
        workload = getattr(importlib.import_module(f"{__name__}.{module.name}"), "WORKLOAD", None)
        if isinstance(workload, Workload):
            found[workload.declaration.name] = workload
    return found


def _load(entry: "EntryPoint") -> object:
    """Load an installed package's workload without showing the package's output. Raises InputError."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return entry.load()
    except (Exception, SystemExit) as error:
        raise InputError(
            f"entry point {ENTRY_POINTS}:{entry.name}",
            sanitize_error(error, 300),
            "an importable package",
        ) from None


@cache
def find(name: str) -> Workload:
    """Return the shipped or installed workload of that name. Raises InputError if there is none."""
    if name in shipped():
        return shipped()[name]
    # This import takes longer than importing all shipped workloads.
    from importlib.metadata import entry_points

    every = entry_points()
    # Before Python 3.10, `entry_points` returns a dictionary by group.
    installed = every.select(group=ENTRY_POINTS) if hasattr(every, "select") else every.get(ENTRY_POINTS, ())
    for entry in installed:
        if entry.name == name:
            loaded = _load(entry)
            if isinstance(loaded, Workload):
                return loaded
            raise InputError(f"entry point {ENTRY_POINTS}:{name}", entry.value, "a tuilab Workload")
    raise InputError("workload", name, "one of " + ", ".join(sorted(shipped())))
