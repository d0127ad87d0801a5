"""The observer of this process. A forked child makes its own when it first uses TensorFlow."""

from __future__ import annotations

import os

from .process import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .observer import Observer


class State:
    def __init__(self) -> None:
        self.settings = Settings("")
        self.observer: Observer | None = None
        self._parents: list[Observer] = []
        self._reborn = False

    def here(self) -> Observer | None:
        """Return the observer if it belongs to this process."""
        one = self.observer
        return one if one is not None and one.process.pid == os.getpid() else None

    def attend(self) -> Observer | None:
        """Return the observer; in a forked child make it."""
        one = self.here()
        if one is None and self._reborn:
            self._reborn = False
            one = self.begin(self._parents[-1].process.tf)
        return one

    def begin(self, module: Any) -> Observer | None:
        """Start to observe this process, which has imported TensorFlow."""
        try:
            from .observer import Observer

            self.observer = Observer(module, self.settings)
            self.observer.start()
        except Exception as error:
            self.fault(error)
        return self.observer

    def forked(self) -> None:
        """In a child: drop the parent's connection."""
        old = self.observer
        if old is not None:
            old.process.channel.close()
            self._parents.append(old)  # its profiler's session belongs to the parent
            self.observer = None
            self._reborn = not old.windows.open

    def fault(self, error: BaseException) -> None:
        """Report a failure of the observer, once. Never raises."""
        if self.observer is not None:
            self.observer.process.fault(error)


state = State()
