"""Replaces functions in a library without leaving traces in the program's tracebacks."""

from __future__ import annotations

import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def stand_in(module: Any, **instead: Any) -> Any:
    new = types.ModuleType(module.__name__)
    new.__dict__.update(module.__dict__)
    new.__dict__.update(instead)
    return new


def disguise(function: Any, like: Any) -> Any:
    """Make tracebacks show this function under the name and file of the function that it replaces."""
    names = {"co_filename": like.__code__.co_filename, "co_name": like.__name__}
    if hasattr(like.__code__, "co_qualname"):  # Python 3.11 or later
        names["co_qualname"] = like.__code__.co_qualname
    function.__code__ = function.__code__.replace(**names)
    function.__name__, function.__qualname__ = like.__name__, like.__qualname__
    function.__doc__, function.__module__ = like.__doc__, like.__module__
    function.__wrapped__ = like
    return function
