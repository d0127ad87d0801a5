"""tuilab: why isn't this using my GPU, and would it be faster if it did?"""

import importlib
from typing import TYPE_CHECKING, Any

from tuilab.version import __version__

if TYPE_CHECKING:
    from tuilab.captured import capture
    from tuilab.workloads.declare import between, parameter, workload

__all__ = ["__version__", "between", "capture", "parameter", "workload"]


def __getattr__(name: str) -> Any:
    # Load names lazily, because importing tuilab in a user's file must stay cheap.
    if name in ("between", "parameter", "workload"):
        return getattr(importlib.import_module("tuilab.workloads.declare"), name)
    if name == "capture":
        return importlib.import_module("tuilab.captured").capture
    if name == "load_ipython_extension":  # %load_ext tuilab
        return importlib.import_module("tuilab.notebook").load
    raise AttributeError(f"module 'tuilab' has no attribute {name!r}")
