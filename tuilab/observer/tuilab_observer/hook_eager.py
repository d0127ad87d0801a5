"""Hook gradient tapes and reads of values."""

from __future__ import annotations

import os

from .disguise import disguise
from .own import Own
from .process import depth
from .state import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def see_tapes() -> None:
    from tensorflow.python.eager import backprop, context

    plain = backprop.GradientTape.__exit__

    def leave(self: Any, typ: Any, value: Any, traceback: Any) -> None:
        plain(self, typ, value, traceback)
        try:
            if typ is None and not depth.inside() and context.executing_eagerly():
                one = state.attend()
                if one is not None:
                    one.eager.tape(Own.frame(1))
        except Exception as error:
            state.fault(error)

    backprop.GradientTape.__exit__ = disguise(leave, plain)


def see_reads() -> None:
    from tensorflow.python.framework import ops

    plain = ops._EagerTensorBase._numpy

    def brought(self: Any) -> Any:
        start = Own.now()
        value = plain(self)
        try:
            one = state.observer
            if one is not None and one.process.pid == os.getpid():
                one.eager.read(Own.frame(1), start)
        except Exception:
            pass
        return value

    ops._EagerTensorBase._numpy = disguise(brought, plain)
