"""An earlier run stays on as its samples alone."""

from tests.tui.data import ARMS, run_state
from tuilab.lab.state import ghost
from tuilab.model.events import Node, Placement


def test_a_ghost_has_the_samples_and_lets_the_rest_go():
    state = run_state(20)
    state.apply(Placement(run="r1", arm=ARMS[0].id, nodes=(Node("n", "Mul", "CPU:0"),)))
    left = ghost(state)
    assert (left.run, left.scenario, left.rounds) == (state.run, state.scenario, 20)
    for name, arm in state.arms.items():
        cell, kept = arm.cells[0], left.arms[name].cells[0]
        assert (kept.samples, kept.rounds) == (cell.samples, cell.rounds)
        assert not kept.latencies and not kept.calls and not left.arms[name].placement
    assert state.arms[ARMS[0].id].placement and state.arms[ARMS[0].id].cells[0].latencies
