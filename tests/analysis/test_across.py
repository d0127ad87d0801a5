"""Tables of several runs, and the line that describes each run in a list."""

import re

import msgspec
import pytest

from tests.analysis.made_runs import begun, finish, measure
from tests.made import EAGER, GRAPH, XLA
from tests.tui.data import ARMS, MACHINE, run_state
from tuilab.analysis.compare import across, compare
from tuilab.analysis.ranking import brief
from tuilab.analysis.summary import summarise
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.roofline import Work
from tuilab.model.run import RunState


def test_each_run_is_compared_with_the_base_as_in_a_comparison_of_two():
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


def test_equal_runs_do_not_differ_and_a_run_without_a_gpu_has_no_gpu_figure():
    here, there = run_state(60, run="a"), run_state(60, run="b", gpu=False)
    found = across([here, there])
    figures = {arm.arm: arm.figures for arm in found.arms}
    assert not any(f.differs for row in figures.values() for f in row if f)
    assert figures[ARMS[3].id][0] is not None and figures[ARMS[3].id][1] is None


def test_arms_without_figures_are_left_out_and_different_workloads_compare_no_parameters():
    here, there = run_state(20, run="a", gpu=False), run_state(20, run="b", gpu=False)
    assert {row.arm for row in across([here, there]).arms} == {
        arm.id for arm in ARMS if arm.device == "CPU:0"
    }
    there.scenario = msgspec.structs.replace(there.scenario, workload="other", parameters={})
    assert across([here, there]).warnings[1] == (f"different work: {here.scenario.workload} versus other",)


def test_a_measured_arm_without_an_interval_is_named_as_not_compared():
    whole = ran_on(GRAPH, 1e-3)
    short = measure(begun([GRAPH]), {GRAPH: 1e-3}, rounds=2)
    (warning,) = [each for each in compare(whole, short).warnings if "not compared" in each]
    assert warning.startswith("CPU graph is not compared") and not compare(whole, short).arms
    assert not any("not compared" in each for each in compare(whole, ran_on(GRAPH, 2e-3)).warnings)


def test_different_machines_are_named():
    here, there = run_state(20, run="a"), run_state(20, run="b")
    there.machine = msgspec.structs.replace(MACHINE, host="laptop", tensorflow="2.20.0")
    text = " | ".join(across([here, there]).warnings[1])
    assert "host is gpu-07 versus laptop" in text and "tensorflow is 2.21.0 versus 2.20.0" in text


def ran_on(arm: Arm, seconds: float) -> RunState:
    return finish(measure(begun([arm]), {arm: seconds}))


def test_runs_without_a_common_arm_compare_arms_that_differ_in_their_device():
    cpu, gpu, eager = Arm("CPU:0", "graph"), Arm("GPU:1", "graph"), Arm("GPU:1", "eager")
    found = compare(ran_on(cpu, 4e-3), ran_on(gpu, 1e-3))
    assert [arm.arm for arm in found.arms] == [f"{cpu.id} → {gpu.id}"]
    assert (
        found.arms[0].sentence.startswith("CPU:0 graph → GPU:1 graph: ")
        and "faster" in found.arms[0].sentence
    )
    assert any("ran on different devices" in warning for warning in found.warnings)
    none = compare(ran_on(cpu, 4e-3), ran_on(eager, 1e-3))
    assert not none.arms and any("nothing to compare" in warning for warning in none.warnings)
    same = compare(ran_on(cpu, 4e-3), ran_on(cpu, 1e-3))
    assert [arm.arm for arm in same.arms] == [cpu.id] and not same.warnings


def swept(*sizes: int, scale: float = 1.0, seed: int = 1) -> RunState:
    state = begun([GRAPH, XLA], sizes=sizes)
    return finish(measure(state, {GRAPH: lambda n: 1e-7 * n * scale, XLA: lambda n: 1e-8 * n}, seed=seed))


def test_sweeps_are_compared_at_the_sizes_that_both_measured():
    here, there = swept(1024, 256, 4096), swept(4096, 256, 512, scale=1.5, seed=2)
    found = compare(here, there)
    assert [(c.arm, c.at, c.differs) for c in found.arms] == [
        (GRAPH.id, {"samples": 256}, True),
        (GRAPH.id, {"samples": 4096}, True),
        (XLA.id, {"samples": 256}, False),
        (XLA.id, {"samples": 4096}, False),
    ]
    assert all(c.ratio == pytest.approx(1.5, rel=0.03) for c in found.arms[:2])
    assert found.arms[1].sentence.startswith("CPU graph at 4,096 samples: ")
    beside = across([here, there])
    assert [(row.label, row.at, all(row.figures)) for row in beside.arms] == [
        ("CPU graph", "256 samples", True),
        ("CPU graph", "4,096 samples", True),
        ("CPU xla", "256 samples", True),
        ("CPU xla", "4,096 samples", True),
    ]
    assert beside.left_out == 2, "1,024 samples of one run and 512 of the other"


def test_a_single_run_is_compared_with_a_sweep_at_its_own_size():
    alone = finish(measure(begun([GRAPH], samples=1024), {GRAPH: 1e-7 * 1024}))
    [found] = compare(swept(256, 1024), alone).arms
    assert found.at == {"samples": 1024} and found.ratio == pytest.approx(1, rel=0.03)
    assert not compare(swept(256, 1024), alone).warnings, "a swept parameter does not count as different"
    third = swept(1024, scale=2.0, seed=3)
    figures = {(row.label, row.at): row.figures for row in across([alone, swept(256), third]).arms}
    assert figures["CPU graph", "1,024 samples"][2].ratio == pytest.approx(2, rel=0.03)


def test_sweeps_without_a_common_size_say_so():
    found = compare(swept(256, 512), swept(1024, 2048))
    assert found.arms == () and "not measured at the same samples" in found.warnings[0]
    beside = across([swept(256, 512), swept(1024, 2048)])
    assert beside.warnings == ((), found.warnings)
    assert beside.arms == () and beside.left_out == 4


def test_a_difference_that_another_process_may_cause_is_no_verdict():
    one, near, far = (
        measure(begun([GRAPH]), {GRAPH: c}, seed=i) for i, c in enumerate((1e-3, 1.07e-3, 1.3e-3))
    )
    (arm,) = compare(one, near).arms
    assert not arm.differs and arm.low > 1 and "cannot be told apart" in arm.sentence
    assert "×" not in arm.sentence and across([one, near]).arms[0].figures[1].words == "may be chance"
    assert compare(one, near).note.endswith("Use --budget standard to measure in several processes.")
    assert "1.30× slower" in compare(one, far).arms[0].sentence
    one.workers = near.workers = 3
    (arm,) = compare(one, near).arms
    assert arm.differs and re.search(r"× slower \[1\.0\d 1\.\d+\]$", arm.sentence)


def test_a_difference_between_single_processes_is_labelled_as_one():
    one, other, same = (
        measure(begun([GRAPH]), {GRAPH: c}, seed=i) for i, c in enumerate((1e-3, 1.1e-3, 1e-3))
    )
    assert compare(one, other).note.startswith("Each run was measured in one process.")
    assert compare(one, same).note == "", "nothing differs"
    other.workers = 20
    assert compare(one, other).note.startswith("The first run was measured in one process.")
    assert compare(other, one).note.startswith("The second run was measured in one process.")
    one.workers = other.workers = 3
    assert compare(one, other).note == ""
    assert across([one, other]).note == "" and "one process" in across([same, other]).note


def test_a_disturbed_run_makes_the_comparison_unfair():
    base, other, third = (measure(begun([GRAPH]), {GRAPH: 1e-3}, seed=i) for i in range(3))
    for text in ("the processor was shared: a", "the processor was shared: b"):
        other.apply(e.Caveat(run="r", code="cpu-contention", message=text))
    other.apply(e.Caveat(run="r", code="clock-stepped", message="the clock"))
    assert compare(base, other).warnings == ("the second run was disturbed: the processor was shared: a",)
    assert across([base, third, other], base=2).warnings == (
        (),
        (),
        ("disturbed: the processor was shared: a",),
    )


def test_without_a_common_arm_the_disturbances_are_irrelevant():
    base, other = (measure(begun([arm]), {arm: 1e-3}) for arm in (GRAPH, EAGER))
    other.apply(e.Caveat(run="r", code="cpu-contention", message="the processor was shared"))
    (only,) = compare(base, other).warnings
    assert only.startswith("nothing to compare: ")


def test_empty_runs_have_nothing_to_compare():
    assert across([RunState(), RunState()]).arms == ()


def test_the_brief_agrees_with_the_summary():
    state = run_state(60)
    found, result = brief(state), summarise(state)
    ranked = sorted((a for a in result.arms if a.median_s), key=lambda a: a.median_s)
    against = next(arm for arm in ranked if arm.device[:3] != ranked[0].device[:3])
    assert (found.fastest, found.median_s, found.next) == (
        ranked[0].label,
        ranked[0].median_s,
        against.label,
    )
    ratio = next(r for r in result.ratios if (r.a, r.b) == (against.id, ranked[0].id))
    assert (found.ratio, (found.low, found.high)) == (ratio.ratio, ratio.ci95)
    assert found.rounds == 60 and found.leads


def test_the_brief_compares_arms_of_a_work_that_several_arms_did():
    alone = msgspec.structs.replace(EAGER, variant="add")
    pair = [msgspec.structs.replace(arm, variant="mul") for arm in (EAGER, GRAPH)]
    state = measure(begun([alone, *pair]), {alone: 1e-3, pair[0]: 9e-3, pair[1]: 3e-3})
    for arm in (alone, *pair):
        state.apply(e.WorkKnown(run="r", arm=arm.id, point=0, work=Work(does=arm.variant)))
    found = brief(state)
    assert (found.fastest, found.next) == ("CPU graph mul", "CPU eager mul") and found.leads


def test_the_brief_of_a_sweep_names_its_sizes_and_where_it_was_cut_short():
    assert brief(swept(256, 1_048_576, 4096)).sizes == "256 to 1M samples"
    state = begun([GRAPH], sizes=(256, 4096, 1_048_576))
    assert brief(state).sizes == "none of 256 to 1M samples"
    state.apply(e.Round(run="r", index=0, blocks=(e.Block(GRAPH.id, 0, 1, 1e-3),), elapsed_s=1.0))
    assert brief(finish(state)).sizes == "256 samples of up to 1M"
    assert brief(finish(measure(begun([GRAPH]), {GRAPH: 1e-3}))).sizes == ""


@pytest.mark.parametrize("state", [RunState(), run_state(0)])
def test_a_run_without_rounds_has_an_empty_brief(state):
    assert brief(state).fastest == "" and brief(state).ratio is None and not brief(state).leads
