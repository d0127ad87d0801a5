"""tuilab: why isn't this using my GPU, and would it be faster if it did?"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuilab.workloads.declare import between, parameter, workload

__version__ = "0.1.0"
__all__ = ["__version__", "between", "parameter", "workload"]


def __getattr__(name: str) -> Any:
    # What a person's own file needs is loaded when it asks: importing tuilab stays free of the rest.
    if name in ("between", "parameter", "workload"):
        return getattr(importlib.import_module("tuilab.workloads.declare"), name)
    raise AttributeError(f"module 'tuilab' has no attribute {name!r}")
