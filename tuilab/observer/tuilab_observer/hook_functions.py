"""Hooks for tf.functions."""

from __future__ import annotations

from .capture import catch
from .disguise import stand_in
from .functions import describe
from .own import Own
from .process import depth
from .state import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .observer import Observer


def see_functions() -> None:
    """Record the start and end of each outermost tf.function call, by replacing TensorFlow's trace
    annotation.

    Adds no frame to tracebacks.
    """
    from tensorflow.python.eager import context
    from tensorflow.python.eager.polymorphic_function import polymorphic_function as module

    plain: Any = module.trace.Trace

    class Trace(plain):  # type: ignore[misc]
        def __init__(self, name: str, **more: Any) -> None:
            self.at: tuple[Observer, int, float, Any] | None = None
            self.count: Any = None
            try:
                if not depth.inside() and context.executing_eagerly():
                    one = state.attend()
                    if one is not None:
                        local = Own.frame(1).f_locals
                        start, arguments = Own.now(), local.get("args")
                        number = one.functions.enter(local["self"], arguments)
                        if one.wanted is not None and one.wanted["catch"] == number:
                            catch(one, local["self"], arguments, local.get("kwds"))
                            start = Own.now()
                            # Saving it traced it, and TensorFlow counted the traces before this hook.
                            self.count = local["self"].experimental_get_tracing_count
                            self.before = self.count()
                        self.at = one, number, start, arguments
            except Exception as error:
                state.fault(error)
            self.traced = ""
            plain.__init__(self, name, **more)

        def __enter__(self) -> Trace:
            depth.add(1)
            return self

        def set_metadata(self, **more: Any) -> None:
            self.traced = more.get("tf_function_call", "")
            plain.set_metadata(self, **more)

        def __exit__(self, *how: Any) -> None:
            depth.add(-1)
            try:
                if self.at is not None:
                    one, number, start, arguments = self.at
                    traced = self.traced.startswith("traced")
                    traced = traced and (self.count is None or self.count() > self.before)
                    described = describe(arguments) if traced else None
                    one.functions.leave(number, start, Own.now(), traced, described)
            except Exception as error:
                state.fault(error)
            plain.__exit__(self, *how)

    module.trace = stand_in(module.trace, Trace=Trace)
