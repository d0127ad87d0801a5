"""State shared by all parts of the observer: settings, connection, and the thread that runs the steps."""

from __future__ import annotations

import os

from .channel import Channel
from .own import Flag, Own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Union

    Key = Union[int, tuple[str, int], str]
    """Identifies a step: a tf.function's number, a gradient tape's line, `BATCH` or `LOOP`."""

NAMES = ("CUDA_VISIBLE_DEVICES", "TF_XLA_FLAGS")
MOST_FAULTS = 20


class Settings:
    """Settings of the observer.

    address: address of tuilab's socket. began: start time of Python. environment: environment variables at
    the start.
    """

    def __init__(self, address: str, options: str = "") -> None:
        self.address, self.began = address, Own.now()
        self.environment = {name: os.environ.get(name) for name in NAMES}
        self.every, self.window, self.share, self.once = 0.0, 0.4, 0.02, 0.0
        for part in options.split(","):
            name, _, value = part.partition("=")
            if name in ("every", "window", "share", "once"):
                setattr(self, name, float(value))

    def changed(self) -> dict[str, str | None]:
        now = {name: os.environ.get(name) for name in self.environment}
        return {name: value for name, value in now.items() if value != self.environment[name]}


class Depth:
    """The nesting depth of tf.function calls in this thread."""

    def __init__(self) -> None:
        self._local = Own.local()

    def inside(self) -> bool:
        return getattr(self._local, "now", 0) != 0

    def add(self, by: int) -> None:
        self._local.now = getattr(self._local, "now", 0) + by


depth = Depth()


class Process:
    """A process that has imported TensorFlow as the module `tf`.

    thread_of_steps, task: ids of the thread that runs the steps, in Python and in the kernel. mark: records
    the start of a step in an open profiler window.
    """

    def __init__(self, module: Any, settings: Settings) -> None:
        self.tf, self.settings, self.pid = module, settings, os.getpid()
        self.channel = Channel(settings.address)
        self.leaving = Flag()
        self.thread_of_steps, self.task = Own.thread(), self.pid
        self.mark: Callable[[Key], None] = lambda key: None
        self._faults: set[str] = set()

    def stepping(self) -> None:
        self.thread_of_steps, self.task = Own.thread(), Own.native_thread()

    def fault(self, error: BaseException) -> None:
        """Report a failure of the observer to tuilab, unless the same failure was reported before. Never
        raises.
        """
        try:
            text = "%s: %s" % (type(error).__name__, error)
            if text not in self._faults and len(self._faults) < MOST_FAULTS:
                import traceback

                self._faults.add(text)
                self.channel.send("fault", text=text, detail=traceback.format_exc()[-2_000:])
        except Exception:
            pass
