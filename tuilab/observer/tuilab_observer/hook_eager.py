"""Hooks for gradient tapes, reads of tensor values, arrays converted to tensors, and checkpoints."""

from __future__ import annotations

import os

from .capture import call_of, catch
from .disguise import disguise
from .own import Own
from .process import depth
from .state import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


LEAST_COPY = 2**16


def see_tapes() -> None:
    from tensorflow.python.eager import backprop, context

    plain = backprop.GradientTape.__exit__

    def leave(self: Any, typ: Any, value: Any, traceback: Any) -> None:
        plain(self, typ, value, traceback)
        try:
            if typ is None and not depth.inside() and context.executing_eagerly():
                one = state.attend()
                if one is not None:
                    frame = Own.frame(1)
                    key = one.eager.tape(frame)
                    if one.wanted is not None and one.wanted["catch"] == key:
                        catch(one, *call_of(frame))
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
    for name in ("numpy", "__array__"):
        setattr(ops._EagerTensorBase, name, timed(getattr(ops._EagerTensorBase, name)))


def timed(plain: Any, made: str = "", name: str = "") -> Any:
    def call(*arguments: Any, **more: Any) -> Any:
        account = state.account
        entered = account.enter()
        try:
            return plain(*arguments, **more)
        finally:
            if entered:
                account.leave(made, name)

    return disguise(call, plain)


def see_checkpoints() -> None:
    """Observe how long checkpoints take.

    Samples would overestimate it: a sample that is due while Python code holds the interpreter lock is
    taken only when the checkpoint releases the lock.
    """
    from tensorflow.python.checkpoint.checkpoint import Checkpoint

    for name in ("save", "write", "restore", "read"):
        setattr(Checkpoint, name, timed(getattr(Checkpoint, name), "saving", f"Checkpoint.{name}"))


def see_copies() -> None:
    """Observe calls of tf.constant and tf.convert_to_tensor that copy NumPy arrays."""
    from tensorflow.python.framework import constant_op

    plain = constant_op.convert_to_eager_tensor

    def converted(value: Any, ctx: Any, dtype: Any = None) -> Any:
        start = Own.now()
        tensor = plain(value, ctx, dtype)
        try:
            size = value.nbytes if type(value).__name__ == "ndarray" else 0
            one = state.observer if size >= LEAST_COPY and not depth.inside() else None
            if one is not None and one.process.pid == os.getpid():
                one.eager.copy(Own.frame(1), size, start)
        except Exception as error:
            state.fault(error)
        return tensor

    constant_op.convert_to_eager_tensor = disguise(converted, plain)
