"""Hooks for Keras, which count the calls to its entry points."""

from __future__ import annotations

from .own import Own
from .places import is_own
from .process import depth
from .state import state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KERAS = "keras.src.utils.traceback_utils"


def see_keras(module: Any) -> None:
    """Observe each Keras call by replacing a function that all Keras entry points call first.

    Adds no frame to tracebacks.
    """
    plain = getattr(module, "is_traceback_filtering_enabled", None)
    if plain is None:
        return

    def is_traceback_filtering_enabled() -> Any:
        try:
            entry = Own.frame(1)
            caller = entry.f_back
            if caller is not None and is_own(caller.f_code.co_filename) and not depth.inside():
                one = state.here()
                local = entry.f_locals
                # Keras also calls this function from functions that are not wrappers, such as
                # `Operation.__call__`.
                if one is not None and "fn" in local:
                    one.calls.keras(caller, local["fn"], local["args"], local["kwargs"])
        except Exception as error:
            state.fault(error)
        return plain()

    module.is_traceback_filtering_enabled = is_traceback_filtering_enabled
