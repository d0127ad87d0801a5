"""Holds the observer of this process. A forked child creates its own observer when it first uses
TensorFlow.
"""

from __future__ import annotations

import os

from .account import Account
from .own import Flag, Own, Thread
from .process import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .observer import Observer

FORK_S = 1.0
"""Maximum seconds for which a fork waits for the sampling thread."""


class State:
    """The observer's state in this process. account: how the main thread has spent its time since Python
    started.
    """

    def __init__(self) -> None:
        self.settings = Settings("")
        self.observer: Observer | None = None
        self.account = Account(self.settings.began)
        self._parents: list[Observer] = []
        self._reborn = self._resume = False
        self._early: Thread | None = None
        self._enough = Flag()

    def here(self) -> Observer | None:
        """Return the observer if it belongs to this process rather than its parent, else None."""
        one = self.observer
        return one if one is not None and one.process.pid == os.getpid() else None

    def attend(self) -> Observer | None:
        one = self.here()
        if one is None and self._reborn:
            self._reborn = False
            one = self.begin(self._parents[-1].process.tf)
        return one

    def begin(self, module: Any) -> Observer | None:
        try:
            from .observer import Observer

            self.pause()
            self.observer = Observer(module, self.settings, self.account)
            self.observer.start()
        except Exception as error:
            self.fault(error)
        return self.observer

    def sample_early(self) -> None:
        self._enough = Flag()
        self._early = Thread(self._sample)
        self._early.start()

    def _sample(self) -> None:
        while not self.account.wait(self._enough):
            self.account.look()

    def pause(self) -> bool:
        """Stop the sampling thread that runs before TensorFlow is imported. Return True if it was running.

        It must not run during a fork, because Python 3.12 warns if a process with several threads forks.
        """
        early, self._early = self._early, None
        if early is None:
            return False
        self._enough.set()
        early.join(FORK_S)
        return True

    def before_fork(self) -> None:
        self._resume = self.pause()

    def after_fork(self) -> None:
        if self._resume:
            self.sample_early()

    def forked(self) -> None:
        """Drop the parent's connection in a forked child."""
        old, resume = self.observer, self._resume
        self.account.restore()
        self.account = Account(Own.now())
        if old is not None:
            old.process.channel.close()
            self._parents.append(old)  # the old observer's profiler session belongs to the parent
            self.observer = None
            self._reborn = not old.windows.open
        elif resume:
            self.sample_early()

    def fault(self, error: BaseException) -> None:
        if self.observer is not None:
            self.observer.process.fault(error)


state = State()
