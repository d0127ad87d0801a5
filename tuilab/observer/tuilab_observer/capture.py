"""Writes a function of the program to a folder, for tuilab."""

from __future__ import annotations

import importlib.util
import sys

from .own import Own
from .process import depth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .process import Process

MODULE = "tuilab_captured"


def catch(process: Process, asked: Any, function: Any, arguments: Any, named: Any) -> None:
    """Write the function. Traces it once more without running it."""
    start, problem = Own.now(), ""
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
    process.channel.send(
        "caught", number=asked["catch"], folder=asked["folder"], problem=problem, took=Own.now() - start
    )
