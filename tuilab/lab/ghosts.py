"""Keeps earlier runs ("ghosts"), which are drawn faintly behind the current run."""

from array import array
from dataclasses import dataclass, field, replace

from tuilab.model.run import ArmSamples, ArmState, RunState

MOST_GHOSTS = 3
LEAST_GHOST = 5
"""Minimum number of rounds for a run to be kept as a ghost."""


@dataclass
class Ghosts:
    kept: list[RunState] = field(default_factory=list)
    pinned: list[RunState] = field(default_factory=list)

    def keep(self, run: RunState) -> None:
        if run.rounds >= LEAST_GHOST and run.scenario is not None and run.sweep is None:
            self.kept = [ghost(run), *self.kept][:MOST_GHOSTS]

    def under(self, run: RunState) -> list[RunState]:
        """Return the ghosts to draw behind a run: earlier runs of the same workload, except sweeps. Runs of
        this lab come first.
        """
        if run.scenario is None:
            return []
        known = {g.run: g for g in (*self.kept, *self.pinned) if g.run != run.run}
        return [
            g
            for g in known.values()
            if g.scenario and g.scenario.workload == run.scenario.workload and g.sweep is None
        ]


def ghost(state: RunState) -> RunState:
    """Return a copy of the run without the data that a plot does not need, such as placement and logs."""
    arms = {name: _arm(arm) for name, arm in state.arms.items()}
    return replace(state, arms=arms, log=[], flags=[], facts=[], canaries=array("d"), windows=[])


def _arm(arm: ArmState) -> ArmState:
    cells = {point: _cell(cell) for point, cell in arm.cells.items()}
    return replace(arm, cells=cells, placement={}, flags=[], facts=[])


def _cell(cell: ArmSamples) -> ArmSamples:
    return replace(cell, calls=array("q"), latencies=array("d"), account=None, known={})
