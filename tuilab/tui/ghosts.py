"""Earlier runs as they stay on under the present one: their samples, and nothing else. No Textual."""

from array import array
from dataclasses import replace

from tuilab.model.run import ArmSamples, ArmState, RunState


def ghost(state: RunState) -> RunState:
    """The run with what a plot draws of it; its placement, logs and single calls are let go."""
    arms = {name: _arm(arm) for name, arm in state.arms.items()}
    return replace(state, arms=arms, log=[], flags=[], facts=[], canaries=array("d"))


def _arm(arm: ArmState) -> ArmState:
    cells = {point: _cell(cell) for point, cell in arm.cells.items()}
    return replace(arm, cells=cells, placement={}, flags=[], facts=[])


def _cell(cell: ArmSamples) -> ArmSamples:
    return replace(cell, calls=array("q"), latencies=array("d"), phases=None, known={})
