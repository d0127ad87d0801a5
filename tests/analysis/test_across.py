"""Several runs side by side, and the line of a run in a list."""

import dataclasses

import msgspec
import pytest

from tests.tui.data import ARMS, MACHINE, run_state
from tuilab.analysis.across import across
from tuilab.analysis.brief import brief
from tuilab.analysis.compare import compare
from tuilab.analysis.summary import summarise
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis, Sweep


def test_each_run_is_held_against_the_base_as_two_runs_are():
    states = [run_state(60, run=name, scale=scale) for name, scale in (("a", 1.0), ("b", 1.3), ("c", 1.0))]
    found = across(states, base=1)
    assert [arm.arm for arm in found.arms] == list(states[0].arms)
    for index in (0, 2):
        for arm, pair in zip(found.arms, compare(states[1], states[index]).arms, strict=True):
            figure = arm.figures[index]
            assert (figure.ratio, figure.low, figure.high, figure.differs) == (
                pair.ratio, pair.low, pair.high, pair.differs,
            )  # fmt: skip
            assert figure.differs and figure.ratio < 1
    assert all(arm.figures[1].ratio is None and not arm.figures[1].differs for arm in found.arms)
    assert found.warnings == ((), (), ())


def test_equal_runs_do_not_differ_and_one_without_gpu_has_no_figure_there():
    here, there = run_state(60, run="a"), run_state(60, run="b", gpu=False)
    found = across([here, there])
    figures = {arm.arm: arm.figures for arm in found.arms}
    assert not any(f.differs for row in figures.values() for f in row if f)
    assert figures[ARMS[3].id][0] is not None and figures[ARMS[3].id][1] is None


def test_unlike_machines_and_sweeps_are_said():
    here, there = run_state(20, run="a"), run_state(20, run="b")
    there.machine = msgspec.structs.replace(MACHINE, host="laptop", tensorflow="2.20.0")
    there.sweep = Sweep(axes=(Axis("samples", (256, 1024)),))
    there.points = [dataclasses.replace(p) if dataclasses.is_dataclass(p) else p for p in there.points]
    said = " | ".join(across([here, there]).warnings[1])
    assert "host is gpu-07 against laptop" in said and "tensorflow is 2.21.0 against 2.20.0" in said
    assert "a sweep: compared at its first size, samples =" in said


def test_runs_without_anything_have_nothing_to_compare():
    assert across([RunState(), RunState()]).arms == ()


def test_the_brief_is_what_the_summary_says():
    state = run_state(60)
    found, result = brief(state), summarise(state)
    ranked = sorted((a for a in result.arms if a.median_s), key=lambda a: a.median_s)
    assert (found.fastest, found.median_s, found.next) == (
        ranked[0].label,
        ranked[0].median_s,
        ranked[1].label,
    )
    ratio = next(r for r in result.ratios if (r.a, r.b) == (ranked[1].id, ranked[0].id))
    assert (found.ratio, (found.low, found.high)) == (ratio.ratio, ratio.ci95)
    assert found.rounds == 60 and found.leads


@pytest.mark.parametrize("state", [RunState(), run_state(0)])
def test_a_run_without_rounds_has_an_empty_brief(state):
    assert brief(state).fastest == "" and brief(state).ratio is None and not brief(state).leads
