"""What is read from a run's state: ops counted, phases that contradict the run."""

import pytest

from tests.analysis.made_runs import begun, finish, measure, phases, placed
from tests.made import EAGER, GRAPH, XLA
from tuilab.analysis.reading import contradicted, op_counts, phases_at
from tuilab.analysis.summary import summarise
from tuilab.model.events import Node
from tuilab.report.rows import phase_lines

PROGRAM = Node("transform", "XLA program", "CPU:0")
INSIDE = (Node("transform/f", "hlo fusion", "CPU:0"), Node("transform/r", "hlo fft", "CPU:0"))


def test_xlas_program_is_no_op_of_its_own() -> None:
    state = placed(measure(begun([XLA, GRAPH]), {XLA: 1e-3, GRAPH: 1e-3}), XLA, PROGRAM, *INSIDE)
    assert op_counts(state.arms[XLA.id], 0) == {"hlo fusion": 1, "hlo fft": 1}
    placed(state, GRAPH, PROGRAM)
    assert op_counts(state.arms[GRAPH.id], 0) == {"XLA program": 1}


def test_phases_that_contradict_the_run_are_refused() -> None:
    """A total of 28.7 ms beside a median of 9.1 ms: the machine was another while they were timed."""
    state = measure(begun([EAGER]), {EAGER: 9.1e-3})
    phases(state, EAGER, dispatch=8.7e-3, compute=20e-3)
    assert phases_at(state.arms[EAGER.id], 0) is None
    [arm] = summarise(finish(state)).arms
    assert not arm.phases_s and arm.total_s is None
    assert "28.7 ms beside a median of 9.1" in arm.phases_note
    [line] = phase_lines(summarise(state))
    assert "not shown" in line


@pytest.mark.parametrize("total", [9.0e-3, 13.0e-3, 16.0e-3])
def test_phases_within_the_runs_own_calls_stand(total: float) -> None:
    """Single calls take half as long again here as those of blocks."""
    state = measure(begun([EAGER]), {EAGER: 9.1e-3})
    phases(state, EAGER, dispatch=total / 4, compute=total * 3 / 4)
    assert not contradicted(state.arms[EAGER.id], 0)
    [line] = phase_lines(summarise(finish(state)))
    assert "dispatch" in line and "compute" in line
