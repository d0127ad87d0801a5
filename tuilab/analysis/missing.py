"""What a run that was broken off has not measured well enough."""

from tuilab.analysis.median import estimate
from tuilab.model.run import ArmState, RunState


def missing(state: RunState) -> dict[str, list[int]]:
    """For each arm that can run, the points at which it lacks rounds or precision."""
    points = [point.index for point in state.points] or [0]
    lacking = {
        name: [point for point in points if _lacks(state, arm, point)] for name, arm in state.arms.items()
    }
    return {name: found for name, found in lacking.items() if found}


def can_run(arm: ArmState) -> bool:
    """Whether neither its device, its workload nor its own error ruled the arm out."""
    return arm.status != "unavailable" and not arm.error


def _lacks(state: RunState, arm: ArmState, point: int) -> bool:
    cell, budget = arm.cells.get(point), state.budget
    if not can_run(arm) or budget is None:
        return False
    if cell is None:
        return True
    if cell.status == "unavailable" or cell.error:
        return False
    found = estimate(cell.samples)
    half = found.relative_half_width if found else None
    return len(cell.samples) < budget.rounds or half is None or half > budget.precision
