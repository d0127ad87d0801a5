"""Runs functions in a thread whose Python stack is short.

TensorFlow records the whole Python stack for each op that Python starts, and each frame adds 0.2 to 0.3 µs.
Below the worker's 16 frames, small ops would therefore take a fifth longer than in a user's program.
"""

import _thread
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

T = TypeVar("T")


def shallow(run: Callable[[], T]) -> T:
    """Return the result of `run`, called in the thread with the short stack, or raise its exception.

    The thread has the caller's device scope and Keras settings.
    """
    global _runner
    if _runner is None or _runner.process != os.getpid():
        _runner = _Runner()
    return _runner.call(run)


class _Runner:
    """The thread. `threading` or an executor would add four or five frames."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._wanted, self._done = _thread.allocate_lock(), _thread.allocate_lock()
        self._wanted.acquire()
        self._done.acquire()
        self._job: Callable[[], Any] = lambda: None
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = _thread.start_new_thread(self._serve, ())

    def call(self, run: Callable[[], T]) -> T:
        if _thread.get_ident() == self._thread:
            return run()
        scope, settings = _device(), _keras_settings()

        def job() -> T:
            for here, values in zip(_keras_locals(), settings, strict=True):
                here.__dict__.update(values)
            with scope:
                return run()

        self._job = job
        self._wanted.release()
        self._done.acquire()
        result, error = self._result, self._error
        self._job, self._result, self._error = (lambda: None), None, None
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def _serve(self) -> None:
        while True:
            self._wanted.acquire()
            try:
                self._result = self._job()
            except BaseException as error:
                self._error = error
            self._done.release()


_runner: _Runner | None = None


def _device() -> AbstractContextManager[Any]:
    """Return the caller's device scope, for use in the thread."""
    tf, eager = sys.modules.get("tensorflow"), sys.modules.get("tensorflow.python.eager.context")
    name = eager.context().device_name if eager is not None else None
    return tf.device(name) if tf is not None and name else nullcontext()


def _keras_locals() -> list[Any]:
    state = sys.modules.get("keras.src.backend.common.global_state")
    names = ("GLOBAL_STATE_TRACKER", "GLOBAL_SETTINGS_TRACKER")
    return [getattr(state, name) for name in names if hasattr(state, name)]


def _keras_settings() -> list[dict[str, Any]]:
    """Return the settings, such as the dtype policy, that Keras stores for each thread."""
    return [dict(each.__dict__) for each in _keras_locals()]
