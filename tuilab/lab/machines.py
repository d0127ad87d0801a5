"""Computes the machine summaries of new runs in the history."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence

import msgspec

from tuilab import catalogue
from tuilab.analysis.machines import PresetRows, Row, compared, machine_summaries, search, text_of
from tuilab.history.machine_summaries import keep, latest, unsummed
from tuilab.history.store import Store
from tuilab.lab.command_line import typed
from tuilab.model.claims import Claim

__all__ = ["PresetRows", "Row", "compared", "latest", "search", "sum_up", "text_of"]


def sum_up(store: Store, at: Callable[[int, int], None] = lambda done, total: None) -> str:
    """Compute the missing machine summaries of the saved runs. Returns the reason why some summaries could
    not be saved; "" if all were saved.

    at: called with the number of finished runs and the total.
    """
    try:
        runs = unsummed(store)
        claims = _claims() if runs else {}
        for done, run in enumerate(runs):
            at(done, len(runs))
            _sum_up(store, run, claims)
    except sqlite3.Error as error:
        return f"the history is not writable ({error}); its newest runs are missing here"
    return ""


def _sum_up(store: Store, run: str, claims: Mapping[str, Sequence[Claim]]) -> None:
    state = store.state(run)
    try:
        found = machine_summaries(state, claims.get(state.preset, ())) if state.run else ()
    except (ValueError, ArithmeticError):
        found = ()  # the run stays in the history without a summary
    keep(store, run, found)


def _claims() -> dict[str, Sequence[Claim]]:
    return {preset.name: preset.claims for preset in catalogue.load().presets}


class MachineLine(msgspec.Struct, frozen=True, kw_only=True):
    preset: str
    differing: str
    """Parameter values that distinguish the runs of this line from other runs of the preset."""
    row: Row
    disagreements: tuple[str, ...]
    """Claims on which the machines that measured the preset disagree."""


def load(store: Store) -> tuple[list[MachineLine], str]:
    """Return a line for each preset and machine, and the reason why some lines are missing ("" if none are).
    Slow if there are new runs.
    """
    own = store.again().draft()
    try:
        problem = sum_up(own)
        found = [
            MachineLine(
                preset=preset.preset,
                differing=" ".join(f"{name}={typed(value)}" for name, value in preset.differing.items()),
                row=row,
                disagreements=preset.disagreements,
            )
            for preset in compared(latest(own))
            for row in preset.rows
        ]
    finally:
        if own is not store:
            own.close()
    return found, problem


def about(line: MachineLine) -> str:
    """Describe a row of the machines page: claims on which machines disagree, disturbances of the run,
    software versions that differ from those of the other machines, the devices, and the run.
    """
    s = line.row.summary
    unlike = f"differs from the others: {', '.join(line.row.unlike)}" if line.row.unlike else ""
    parts = [
        *line.disagreements,
        s.disturbed,
        unlike,
        ", ".join(s.gpus) or s.cpu,
        f"{s.at[:10]}, run {s.run[:8]}",
    ]
    return "; ".join(part for part in parts if part)
