"""The roofs of machines, as the lab keeps them: learnt from a run's events, given to the next run."""

import contextlib
from pathlib import Path

import msgspec

from tuilab.analysis.bound import bounds
from tuilab.analysis.bound_words import sweep_bound
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
    """Return the roofs of every machine that was measured, for a request to carry along."""
    return store.known()


def keep(roofs: Roofs) -> Roofs:
    """Keep the best figures of a machine, these among them; returns them. Raises OSError if it cannot."""
    return store.keep(roofs, better)


_of: dict[tuple[Path, str], Roofs | None] = {}


def of(machine: Machine) -> Roofs | None:
    """Return the roofs of one machine, remembered until others are learnt."""
    key = store.folder(), machine.key
    if key not in _of:
        _of[key] = next((roofs for roofs in known() if roofs.machine == machine.key), None)
    return _of[key]


def learn(event: Event) -> None:
    """Keep the roofs that a run told of. If they cannot be kept, the next run measures them again."""
    if isinstance(event, RoofsKnown):
        _of.clear()
        with contextlib.suppress(OSError):
            keep(event.roofs)


def held_against(state: RunState, result: RunResult, gpu: str) -> RunResult:
    """Return the result with the bounds of the GPU that was named; as it is if none was."""
    if not gpu:
        return result
    from tuilab.analysis.answer import answer
    from tuilab.analysis.reading import summary_point

    found = SHEETS[gpu]
    return msgspec.structs.replace(
        result,
        answer=answer(state, result.crossovers, gpu),
        bounds=bounds(state, summary_point(state), found),
        sweep_bound=sweep_bound(state, found),
    )
