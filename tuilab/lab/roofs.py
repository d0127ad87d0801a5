"""Manages the machines' roofs (hardware limits): learns them from events, and loads and saves them."""

import contextlib
from pathlib import Path

import msgspec

from tuilab.analysis.answer import answer
from tuilab.analysis.bound import bounds
from tuilab.analysis.bound_words import sweep_bound
from tuilab.analysis.reading import summary_point
from tuilab.analysis.roofline import better
from tuilab.history import roofs as store
from tuilab.model.datasheets import SHEETS
from tuilab.model.events import Event, RoofsKnown
from tuilab.model.machine import Machine
from tuilab.model.result import RunResult
from tuilab.model.roofline import Roofs
from tuilab.model.run import RunState

__all__ = ["better", "keep", "known", "learn"]


def known() -> tuple[Roofs, ...]:
    return store.load_roofs()


def keep(roofs: Roofs) -> Roofs:
    """Merge new roofs with the best known roofs of the machine, and save the result. Raises OSError."""
    return store.keep(roofs, better)


_of: dict[tuple[Path, str], Roofs | None] = {}


def of(machine: Machine) -> Roofs | None:
    """Return a machine's roofs; None if unknown. Cached until new roofs are measured."""
    key = store.folder(), machine.key
    if key not in _of:
        _of[key] = next((roofs for roofs in known() if roofs.machine == machine.key), None)
    return _of[key]


def learn(event: Event) -> None:
    """Save the roofs that an event reports. If this fails, the next run measures them again."""
    if isinstance(event, RoofsKnown):
        _of.clear()
        with contextlib.suppress(OSError):
            keep(event.roofs)


def held_against(state: RunState, result: RunResult, gpu: str) -> RunResult:
    """Return the result with bounds for the GPU named `gpu`; unchanged if `gpu` is ""."""
    if not gpu:
        return result
    found = SHEETS[gpu]
    return msgspec.structs.replace(
        result,
        answer=answer(state, result.crossovers, gpu),
        bounds=bounds(state, summary_point(state), found),
        sweep_bound=sweep_bound(state, found),
    )
