"""Loads the observer when Python starts, then runs the `sitecustomize` that this file hides.

Python runs this file if its folder is on PYTHONPATH. Failures are silent, and the folder is removed from
`sys.path` again, so that the program does not notice the observer.
"""

import os
import sys


def _observe() -> None:
    address = os.environ.get("TUILAB_WATCH")
    if address and os.path.exists(address):
        from importlib import import_module

        import_module("tuilab_observer.start").install(address)


def _run_hidden(folder: str) -> None:
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != folder]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _observe()
except Exception:
    pass
_run_hidden(os.path.dirname(os.path.abspath(__file__)))
