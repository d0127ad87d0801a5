"""The lab without a screen: it measures, saves, compares and reports."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuilab.lab.lab import Lab

__all__ = ["Lab"]


def __getattr__(name: str) -> Any:
    # Load names lazily: before its first paint, the screen needs only small parts of the lab.
    if name == "Lab":
        return importlib.import_module("tuilab.lab.lab").Lab
    raise AttributeError(f"module 'tuilab.lab' has no attribute {name!r}")
