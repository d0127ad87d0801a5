import re

import pytest

from tests.analysis.made_runs import begun, finish, measure, phases, placed
from tests.made import EAGER, GRAPH, XLA
from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.reading import by_rounds, op_counts
from tuilab.analysis.summary import summarise
from tuilab.model.events import Node
from tuilab.report.rows import phase_lines

PROGRAM = Node("transform", "XLA program", "CPU:0")
INSIDE = (Node("transform/f", "hlo fusion", "CPU:0"), Node("transform/r", "hlo fft", "CPU:0"))


def test_the_xla_program_is_not_listed_as_an_op() -> None:
    state = placed(measure(begun([XLA, GRAPH]), {XLA: 1e-3, GRAPH: 1e-3}), XLA, PROGRAM, *INSIDE)
    assert op_counts(state.arms[XLA.id], 0) == {"hlo fusion": 1, "hlo fft": 1}
    placed(state, GRAPH, PROGRAM)
    assert op_counts(state.arms[GRAPH.id], 0) == {"XLA program": 1}


def test_an_account_that_contradicts_the_run_is_dropped() -> None:
    """The profiled calls took 28.7 ms and the run's median is 9.1 ms, so the profile does not describe the
    run.
    """
    state = measure(begun([EAGER]), {EAGER: 9.1e-3})
    phases(state, EAGER, dispatch=8.7e-3, compute=20e-3)
    [arm] = summarise(finish(state)).arms
    assert arm.account is not None and arm.account.not_known == 1
    assert arm.phases_s == {"not_known": arm.median_s}
    line, known = phase_lines(summarise(state))
    assert "not known" in line and "28.7 ms, which differs from this run's 9.1" in known


@pytest.mark.parametrize("total", [7.5e-3, 9.0e-3, 13.0e-3, 16.0e-3])
def test_an_account_within_the_runs_own_calls_is_scaled_to_the_median(total: float) -> None:
    """In this run, a single call takes 1.5 times as long as a call within a block."""
    state = measure(begun([EAGER]), {EAGER: 9.1e-3})
    phases(state, EAGER, dispatch=total / 4, compute=total * 3 / 4)
    [arm] = summarise(finish(state)).arms
    assert arm.median_s is not None and sum(arm.phases_s.values()) == pytest.approx(arm.median_s, rel=1e-12)
    assert arm.phases_s["dispatch"] == pytest.approx(arm.median_s / 4)


def test_a_later_account_replaces_the_earlier_one() -> None:
    state = phases(measure(begun([EAGER]), {EAGER: 1e-3}), EAGER, dispatch=1e-3)
    assert list(summarise(state).arms[0].phases_s) == ["dispatch"]
    phases(state, EAGER, compute=1e-3)
    assert list(summarise(state).arms[0].phases_s) == ["compute"]


def test_a_ratio_is_explained_if_the_medians_have_another_quotient_in_either_order() -> None:
    state = measure(begun([EAGER, GRAPH]), {EAGER: 2e-3, GRAPH: 1e-3})
    slow, fast = state.arms[EAGER.id], state.arms[GRAPH.id]
    slower, faster = RatioEstimate(1.5, 1.4, 1.6, 40), RatioEstimate(1 / 1.5, 1 / 1.6, 1 / 1.4, 40)
    for said in (by_rounds(slower, slow, fast, 0), by_rounds(faster, fast, slow, 0)):
        assert re.match(r"; the quotient of the medians is (2\.0\d*|1\.9\d*|2)×, because", said), said
    assert by_rounds(RatioEstimate(2.0, 1.8, 2.2, 40), slow, fast, 0) == ""
    assert by_rounds(RatioEstimate(0.5, 0.45, 0.55, 40), fast, slow, 0) == ""


def test_an_interval_whose_ends_differ_a_hundredfold_says_nothing():
    assert RatioEstimate(9.0, 1.0, 99.0, 5).is_informative
    assert not RatioEstimate(9.0, 1.0, 100.0, 5).is_informative
