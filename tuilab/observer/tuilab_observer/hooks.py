"""Installs all hooks. Each part of TensorFlow has its own module of hooks."""

from __future__ import annotations

from . import hook_data, hook_eager, hook_functions, hook_profiler
from .state import state


def install_hooks() -> None:
    for install in (
        hook_functions.see_functions,
        hook_data.see_waiting,
        hook_eager.see_tapes,
        hook_eager.see_reads,
        hook_eager.see_copies,
        hook_eager.see_checkpoints,
        hook_data.see_datasets,
        hook_profiler.see_profilers,
    ):
        try:
            install()
        except Exception as error:
            state.fault(error)
