"""Runs when Python starts, and starts the observer once the program imports TensorFlow."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading

from .account import Account
from .process import Settings
from .state import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class Finder:
    """An import hook that detects the end of a module's import in any thread and then removes itself.

    If a program only checks whether the module is installed, the hook answers and stays active.
    """

    def __init__(self, name: str, ready: Callable[[ModuleType], None]) -> None:
        self.name, self.ready, self.finding = name, ready, threading.local()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name or getattr(self.finding, "now", False):
            return None
        self.finding.now = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.finding.now = False
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            loader: Any = spec.loader
            run = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self.ready(module)

            loader.exec_module = exec_module
        return spec


def install(address: str) -> None:
    """Install the import hook. Does not block."""
    state.settings = Settings(address, os.environ.get("TUILAB_WATCH_OPTIONS", ""))
    state.account = Account(state.settings.began)
    os.register_at_fork(
        before=state.before_fork, after_in_parent=state.after_fork, after_in_child=state.forked
    )
    there = sys.modules.get("tensorflow")
    if there is not None:  # TensorFlow was imported before this process was forked
        ready(there)
    else:
        state.sample_early()
        sys.meta_path.insert(0, Finder("tensorflow", ready))


def ready(module: ModuleType) -> None:
    try:
        if getattr(module, "__version__", "0").split(".")[0] < "2" or state.begin(module) is None:
            return
        from .hook_keras import KERAS, see_keras
        from .hooks import install_hooks

        install_hooks()
        if KERAS in sys.modules:
            see_keras(sys.modules[KERAS])
        else:
            sys.meta_path.insert(0, Finder(KERAS, see_keras))
        import atexit

        atexit.register(at_exit)
        plain = os._exit

        def leave(status: int) -> Any:
            at_exit(0.5)
            plain(status)

        os._exit = leave
    except Exception as error:
        state.fault(error)


def at_exit(patience: float = 2.0) -> None:
    last = state.here()
    if last is not None:
        last.end(patience)
