"""Hooks for TensorFlow's profiler. If the program uses the profiler, the observer closes its own profiler
session, because a process can have only one session.
"""

from __future__ import annotations

import weakref

from .state import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .observer import Observer


def see_profilers() -> None:
    from tensorflow.python.profiler.internal import _pywrap_profiler as module

    plain: Any = module.ProfilerSession
    plain_server = module.start_server
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    class ProfilerSession(plain):  # type: ignore[misc]
        _tuilab_plain = plain

        def start(self, *arguments: Any, **more: Any) -> Any:
            one = state.here()
            alive.add(self)
            if one is not None:
                one.windows.sessions = alive
                one.windows.give_way()
                _report(one)
            return plain.start(self, *arguments, **more)

    def start_server(*arguments: Any) -> Any:
        one = state.here()
        if one is not None:
            one.windows.server = True
            one.windows.give_way()
            _report(one)
        return plain_server(*arguments)

    module.ProfilerSession, module.start_server = ProfilerSession, start_server


def _report(one: Observer) -> None:
    try:
        one.process.channel.send("profiler")
    except Exception as error:
        state.fault(error)
