"""Binds the Python functions that the observer uses, so that the program cannot replace them.

The functions are attributes of a class, because tools that freeze time patch attributes of modules.
"""

from __future__ import annotations

import _socket
import _thread
import gc
import io
import json
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Own:
    now = staticmethod(time.perf_counter)
    clock = staticmethod(time.time)
    cpu = staticmethod(time.process_time)
    thread_cpu = staticmethod(time.thread_time)
    sleep = staticmethod(time.sleep)
    open_number = staticmethod(os.open)
    read_at = staticmethod(os.pread)
    open: Any = staticmethod(io.open)
    thread = staticmethod(_thread.get_ident)
    native_thread = staticmethod(_thread.get_native_id)
    start_thread = staticmethod(_thread.start_new_thread)
    lock = staticmethod(_thread.allocate_lock)
    rlock = _thread.RLock
    local = _thread._local
    socket = _socket.socket
    poll = staticmethod(select.poll)
    encode = staticmethod(json.JSONEncoder(default=str).encode)
    decode = staticmethod(json.JSONDecoder().decode)
    exists = staticmethod(os.path.exists)
    mask = staticmethod(signal.pthread_sigmask)
    signals = staticmethod(signal.valid_signals)
    frames = staticmethod(sys._current_frames)
    collects = staticmethod(gc.isenabled)
    collect = staticmethod(gc.enable)
    postpone_collecting = staticmethod(gc.disable)
    frame = staticmethod(sys._getframe)
    interval = staticmethod(sys.getswitchinterval)
    set_interval = staticmethod(sys.setswitchinterval)


class Flag:
    """Replaces `threading.Event`, because the program may have patched `threading`."""

    def __init__(self) -> None:
        self._lock = Own.lock()
        self._lock.acquire()
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        if not self._set:
            self._set = True
            self._release()

    def clear(self) -> None:
        if self._set:
            self._set = False
            self._lock.acquire(False)

    def wait(self, seconds: float) -> bool:
        if self._lock.acquire(True, seconds):
            self._release()
        return self._set

    def _release(self) -> None:
        try:
            self._lock.release()
        except RuntimeError:
            pass  # another thread may set the flag at the same time


class Thread:
    """A thread that `threading` does not list and that does not delay the program's exit."""

    def __init__(self, run: Callable[[], None]) -> None:
        self._run, self._done = run, Flag()

    def start(self) -> None:
        # Block all signals in the new thread, because the program's own threads may be waiting for them.
        before = Own.mask(signal.SIG_BLOCK, Own.signals())
        try:
            Own.start_thread(self._whole, ())
        finally:
            Own.mask(signal.SIG_SETMASK, before)

    def join(self, seconds: float) -> bool:
        return self._done.wait(seconds)

    def _whole(self) -> None:
        try:
            self._run()
        except Exception:
            pass
        finally:
            self._done.set()
