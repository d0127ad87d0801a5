"""The workloads: one file each. Found by looking, so that adding one touches no other file."""

import importlib
import pkgutil
from functools import cache

from tuilab.model.errors import InputError
from tuilab.workloads.base import Workload

ENTRY_POINTS = "tuilab.workloads"


@cache
def shipped() -> dict[str, Workload]:
    """Every workload of this package, by name: each module here that has a `WORKLOAD`."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        workload = getattr(importlib.import_module(f"{__name__}.{module.name}"), "WORKLOAD", None)
        if isinstance(workload, Workload):
            found[workload.declaration.name] = workload
    return found


@cache
def find(name: str) -> Workload:
    """The workload of that name, shipped or installed. Raises InputError where there is none."""
    if name in shipped():
        return shipped()[name]
    from importlib.metadata import entry_points  # takes longer to load than all the shipped ones

    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name == name:
            loaded = entry.load()
            if isinstance(loaded, Workload):
                return loaded
            raise InputError(f"entry point {ENTRY_POINTS}:{name}", entry.value, "a tuilab Workload")
    raise InputError("workload", name, "one of " + ", ".join(sorted(shipped())))
