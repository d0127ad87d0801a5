"""The lab without a face: what measures, keeps, compares and tells."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuilab.lab.lab import Lab

__all__ = ["Lab"]


def __getattr__(name: str) -> Any:
    # Anyone who needs one small part of it, such as the screen before its first paint, loads no more than
    # that.
    if name == "Lab":
        return importlib.import_module("tuilab.lab.lab").Lab
    raise AttributeError(f"module 'tuilab.lab' has no attribute {name!r}")
