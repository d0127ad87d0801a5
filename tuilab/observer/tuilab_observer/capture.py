"""Saves a function of the program to a folder when tuilab requests it."""

from __future__ import annotations

import importlib.util
import sys
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from types import CellType, FunctionType

from .process import depth
from .state import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from .observer import Observer

MODULE = "tuilab_captured"
PAUSING = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def catch(one: Observer, function: Any, arguments: Any, named: Any) -> None:
    """Save the function of this call to the folder that tuilab requested.

    Traces the function once more without running it.
    """
    asked, one.wanted = one.wanted, None
    one.windows.give_way()
    state.observer = None  # exclude tuilab's own tracing and saving from the program's figures
    problem = ""
    depth.add(1)
    try:
        spec = importlib.util.spec_from_file_location(MODULE, asked["captured"])
        if spec is None or spec.loader is None:
            raise ImportError(asked["captured"])
        module = importlib.util.module_from_spec(spec)
        sys.modules[MODULE] = module
        spec.loader.exec_module(module)
        module.capture(function, *(arguments or ()), folder=asked["folder"], **(named or {}))
    except Exception as error:
        problem = "%s: %s" % (type(error).__name__, error)
    finally:
        sys.modules.pop(MODULE, None)
        depth.add(-1)
        state.observer = one
    one.process.channel.send("caught", number=asked["catch"], folder=asked["folder"], problem=problem)


def call_of(frame: FrameType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the function that a frame runs, rebuilt from its code, and the current values of its arguments.

    Calling the function with these values may raise TypeError.
    """
    code, held = frame.f_code, dict(frame.f_locals)
    cells = tuple(CellType(held[name]) for name in code.co_freevars if name in held)
    if code.co_flags & PAUSING or len(cells) < len(code.co_freevars):
        return _refuse, (), {}
    function = FunctionType(code, frame.f_globals, code.co_name, None, cells)
    places, names = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    arguments = tuple(held.get(name) for name in code.co_varnames[:places])
    named = {name: held.get(name) for name in code.co_varnames[places:names]}
    if code.co_flags & CO_VARARGS:
        arguments += tuple(held.get(code.co_varnames[names], ()))
        names += 1
    if code.co_flags & CO_VARKEYWORDS:
        named.update(held.get(code.co_varnames[names], {}))
    return function, arguments, named


def _refuse() -> None:
    raise TypeError(
        "the step is in a generator or a coroutine, or its function has an unassigned closure variable"
    )
