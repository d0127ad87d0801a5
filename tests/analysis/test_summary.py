import json
import math

import msgspec
import pytest

from tests.analysis.made_runs import (
    GPU_COPIED,
    SIZES,
    begun,
    fact,
    failed,
    finish,
    measure,
    phases,
    placed,
    unavailable,
)
from tests.made import EAGER, GPU_GRAPH, GRAPH, XLA
from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.summary import summarise
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.claims import Claim, FactIs
from tuilab.model.models import ModelInfo
from tuilab.model.result import ArmResult, Ratio, RunResult
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis


def arm_of(result: RunResult, arm: Arm) -> ArmResult:
    return next(row for row in result.arms if row.id == arm.id)


def test_a_run_that_has_not_begun_has_no_result() -> None:
    with pytest.raises(ValueError, match="no run has started"):
        summarise(RunState())


def test_the_fields_that_scripts_rely_on() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 2e-3})
    state.apply(e.FirstCalls(run="r", arm=GRAPH.id, point=0, first_s=0.5, second_s=0.001))
    state.apply(e.Caveat(run="r", code="drift", message="it drifts", arm=GRAPH.id))
    state.apply(e.Caveat(run="r", code="canary", message="it moved"))
    phases(state, GRAPH, residual=1e-4, compute=7e-4, dispatch=2e-4)
    placed(state, GRAPH, e.Node("a", "RFFT", "CPU:0"))
    fact(fact(state, "frames", 1), "traces", 2, arm=GPU_GRAPH)
    result = summarise(finish(state), [Claim(text="one frame", when=FactIs(fact="frames", value=1))])
    cpu = arm_of(result, GRAPH)
    assert (result.schema, result.preset, result.status, result.rounds) == (1, "stft-small", "ok", 20)
    assert result.machine.gpus == ("a GPU",)
    assert (cpu.status, cpu.device, cpu.n, cpu.first_call_s) == ("ok", "CPU:0", 20, 0.5)
    assert cpu.median_s == pytest.approx(1e-3, rel=0.02) and cpu.ci95_s is not None
    assert cpu.latency_s == pytest.approx(1.5e-3, rel=0.02)
    assert list(cpu.phases_s) == ["dispatch", "compute", "not_known"]
    assert sum(cpu.phases_s.values()) == pytest.approx(cpu.median_s)
    assert cpu.phases_s["compute"] == pytest.approx(0.7 * cpu.median_s)
    assert [f.code for f in cpu.flags] == ["drift"] and [f.code for f in result.flags] == ["canary"]
    assert result.facts == {"frames": 1, f"{GPU_GRAPH.id}:traces": 2}
    assert [(row.arm, row.op) for row in result.placement] == [(GRAPH.id, "RFFT")]
    assert [v.verdict for v in result.claims] == ["confirmed"]
    assert (result.axis, result.points, result.crossover, result.crossovers) == ((), (), None, ())
    read = json.loads(msgspec.json.encode(result))
    assert read["arms"][0]["ci95_s"] == list(cpu.ci95_s)


def test_ratios_are_against_the_fastest_and_between_the_devices_in_one_mode() -> None:
    arms = {EAGER: 5e-3, GRAPH: 1e-3, GPU_GRAPH: 2e-3, Arm("GPU:0", "eager"): 8e-3}
    result = summarise(finish(measure(begun(list(arms)), arms)))
    pairs = {(r.a, r.b): r for r in result.ratios}
    assert {b for _, b in pairs} == {GRAPH.id, EAGER.id}
    against = pairs[GPU_GRAPH.id, GRAPH.id]
    assert against.ratio == pytest.approx(2, rel=0.02)
    assert against.ci95[0] < against.ratio < against.ci95[1]
    assert pairs["gpu0.eager.resident.float32", EAGER.id].ratio == pytest.approx(1.6, rel=0.02)
    assert len(pairs) == 4


@pytest.mark.parametrize("spread", [0.1, 2.0])
def test_a_ratio_whose_interval_says_nothing_is_left_out(spread: float) -> None:
    arms = {EAGER: 100e-3, GRAPH: 1e-3}
    result = summarise(finish(measure(begun(list(arms)), arms, rounds=4, spread=spread)))
    assert [(each.a, each.b) for each in result.ratios] == [(EAGER.id, GRAPH.id)] * (spread < 1)
    assert "CPU graph is fastest" in result.answer and ("× slower" in result.answer) == (spread < 1)


def test_unavailable_failed_and_unmeasured_arms() -> None:
    state = begun([GRAPH, XLA, EAGER, GPU_GRAPH], gpu=False)
    unavailable(failed(measure(state, {GRAPH: 1e-3}), XLA, "cannot compile"), GPU_GRAPH)
    running = summarise(state)
    assert arm_of(running, EAGER).reason == "not measured yet"
    assert running.status == "running"
    result = summarise(finish(state, "cancelled"))
    assert [arm_of(result, a).status for a in (GRAPH, XLA, EAGER, GPU_GRAPH)] == [
        "ok",
        "failed",
        "cancelled",
        "unavailable",
    ]
    assert arm_of(result, EAGER).reason == "the run ended before it was measured"
    assert arm_of(result, GPU_GRAPH).device is None
    assert arm_of(result, GPU_GRAPH).median_s is None
    assert result.ratios == ()


def test_a_partly_failed_arm_is_in_no_ratio() -> None:
    state = failed(measure(begun([GRAPH, XLA]), {GRAPH: 1e-3, XLA: 2e-3}), XLA, "broke")
    result = summarise(state)
    assert result.ratios == ()
    assert arm_of(result, XLA).status == "failed"
    assert arm_of(result, XLA).n == 20


def test_a_device_other_than_the_requested_one_is_flagged() -> None:
    state = measure(begun([GPU_GRAPH]), {GPU_GRAPH: 1e-3})
    state.apply(e.ArmStatus(run="r", arm=GPU_GRAPH.id, status="ok", device="CPU:0"))
    arm = arm_of(summarise(state), GPU_GRAPH)
    assert (arm.device, arm.requested_device) == ("CPU:0", "GPU:0")
    assert [(f.code, f.message) for f in arm.flags] == [
        ("other-device", "asked for GPU:0, computed on CPU:0")
    ]


def test_a_sweep_is_summarised_by_point() -> None:
    costs = {GRAPH: lambda x: 1e-4 + 1e-8 * x, GPU_COPIED: lambda x: 3e-4 + 1e-9 * x}
    state = measure(begun([GRAPH, GPU_COPIED], sizes=SIZES, samples=1_000), costs)
    failed(state, GPU_COPIED, "out of memory", point=4)
    state.apply(e.Caveat(run="r", code="outliers", message="2 of 20", arm=GRAPH.id, point=3))
    result = summarise(finish(state))
    assert result.axis == ("samples",)
    assert [p.values["samples"] for p in result.points] == list(SIZES)
    assert [a.status for a in result.points[4].arms] == ["ok", "failed"]
    assert result.points[4].arms[1].reason == "out of memory"
    # 1,024 is the point nearest to the scenario's 1,000.
    assert arm_of(result, GRAPH).median_s == result.points[1].arms[0].median_s
    assert arm_of(result, GRAPH).flags[0].message == "at samples 16384: 2 of 20"
    assert result.crossover is not None and result.crossover.status == "beyond"
    assert result.crossover.a == GPU_COPIED.id


def test_points_come_in_the_order_of_the_axis() -> None:
    state = begun([GRAPH], sizes=(256, 4_096))
    state.apply(e.PointAdded(run="r", point=e.Point(2, {"samples": 1_024})))
    result = summarise(measure(state, {GRAPH: lambda x: x * 1e-6}))
    assert [p.values["samples"] for p in result.points] == [256, 1_024, 4_096]


def test_a_point_at_the_default_value_still_names_it() -> None:
    state = begun([GRAPH], sizes=(256, 4_096))
    state.points[0] = e.Point(0)
    assert summarise(state).points[0].values == {"samples": 256}


def test_crossovers_pair_modes_and_put_the_fastest_first() -> None:
    costs = {
        EAGER: lambda x: 5e-3 + 1e-8 * x,
        GRAPH: lambda x: 1e-4 + 1e-8 * x,
        GPU_GRAPH: lambda x: 3e-4 + 1e-9 * x,
        GPU_COPIED: lambda x: 4e-4 + 2e-9 * x,
        Arm("GPU:0", "eager"): lambda x: 8e-3 + 1e-9 * x,
    }
    result = summarise(measure(begun(list(costs), sizes=SIZES), costs))
    pairs = [frozenset((c.a, c.b)) for c in result.crossovers]
    assert pairs[0] == {GPU_GRAPH.id, GRAPH.id}
    assert frozenset((GPU_COPIED.id, GRAPH.id)) in pairs
    assert len(pairs) == len(set(pairs)) == 3
    assert result.crossover == result.crossovers[0]
    assert result.crossover.at == pytest.approx(22_222, rel=0.1)


def in_turns(costs: dict[Arm, tuple[float, ...]], sizes: tuple[int, ...]) -> RunState:
    """Return a finished sweep in which each arm cycles through the given seconds, at every size."""
    state = begun(list(costs), gpu=False, sizes=sizes)
    for index in range(21):
        blocks = tuple(
            e.Block(arm.id, point.index, 1, cost[index % len(cost)], cost[index % len(cost)])
            for arm, cost in costs.items()
            for point in state.points
        )
        state.apply(e.Round(run="r", index=index, blocks=blocks, elapsed_s=0.1 * (index + 1)))
    return finish(state)


def test_the_factor_of_a_sweep_is_the_ratio_of_a_run_at_that_size() -> None:
    sizes = (256, 1_024)
    result = summarise(in_turns({GRAPH: (1.0, 1.0, 4.0), XLA: (2.0, 2.2, 4.4)}, sizes))
    assert [len(point.ratios) for point in result.points] == [1, 1]
    # The summary's own ratio is that of its main size, 256, which is the first point.
    own, last = result.ratios[0], result.points[-1].ratios[0]
    assert own == result.points[0].ratios[0] or turned(own) == result.points[0].ratios[0]
    if last.a == GRAPH.id:
        last = turned(last)
    estimate = RatioEstimate(last.ratio, *last.ci95, n=21)
    assert result.crossover is not None
    assert f"{estimate.words} {estimate.span} at 1,024, round by round;" in result.crossover.sentence
    assert "the quotient of the medians is 2.20×, because" in result.crossover.sentence


def turned(ratio: Ratio) -> Ratio:
    low, high = ratio.ci95
    return Ratio(ratio.b, ratio.a, 1 / ratio.ratio, (1 / high, 1 / low), ratio.paired)


def test_without_a_gpu_the_fastest_arms_of_both_ends_are_compared() -> None:
    costs = {GRAPH: lambda x: 1e-4 + 1e-8 * x, XLA: lambda x: 3e-4 + 1e-9 * x, EAGER: lambda x: 1e-2}
    result = summarise(measure(begun(list(costs), gpu=False, sizes=SIZES), costs))
    assert (result.crossover.status, result.crossover.a, result.crossover.b) == ("found", XLA.id, GRAPH.id)


def test_an_arm_that_may_be_the_fastest_at_a_size_is_compared_with_the_fastest_over_all() -> None:
    """Eager is 9% faster at the smallest size, which noise may explain; the graph is never close."""
    costs = {
        GRAPH: lambda x: 2e-4 + 2e-8 * x,
        XLA: lambda x: 1e-4 + 1e-8 * x,
        EAGER: lambda x: (1e-4 + 1e-8 * x) * (0.91 if x == SIZES[0] else 3.0),
    }
    state = measure(begun(list(costs), gpu=False, sizes=SIZES), costs, spread=0.2, rounds=5)
    found = summarise(finish(state)).crossover
    assert found is not None and {found.a, found.b} == {XLA.id, EAGER.id}


def test_without_a_crossover_the_fastest_over_all_comes_first() -> None:
    # XLA is fastest at the smallest size and eager at the largest, but the noise exceeds both leads.
    costs = {
        GRAPH: lambda x: 1e-4 + 1e-8 * x,
        XLA: lambda x: (1e-4 + 1e-8 * x) * (0.999 if x == SIZES[0] else 1.4),
        EAGER: lambda x: (1e-4 + 1e-8 * x) * (0.999 if x == SIZES[-1] else 2.0),
    }
    state = measure(begun(list(costs), gpu=False, sizes=SIZES), costs, spread=0.02)
    found = summarise(finish(state)).crossover
    assert found is not None and {found.a, found.b} == {GRAPH.id, EAGER.id}
    slower = state.arms[EAGER.id].label
    assert (
        found.sentence.startswith(f"{slower} does not overtake")
        and "is slower at smaller sizes; at" in found.sentence
    )


def test_an_arm_that_wins_only_in_the_middle_is_not_passed_over() -> None:
    middle = SIZES[len(SIZES) // 2]
    costs = {
        GRAPH: lambda x: 1e-4 + 1e-8 * x,
        EAGER: lambda x: 1.5 * (1e-4 + 1e-8 * x),
        XLA: lambda x: (0.8 if x == middle else 1.7) * (1e-4 + 1e-8 * x),
    }
    found = summarise(finish(measure(begun(list(costs), gpu=False, sizes=SIZES), costs))).crossover
    assert found is not None and {found.a, found.b} == {GRAPH.id, XLA.id}
    assert found.sentence.startswith("No crossover persists between ")


def test_two_axes_give_a_crossover_for_each_value_of_the_second() -> None:
    axes = [Axis("samples", SIZES), Axis("frame_length", (128, 256))]
    costs = {GRAPH: lambda x: 1e-4 + 1e-8 * x, GPU_GRAPH: lambda x: 3e-4 + 1e-9 * x}
    result = summarise(measure(begun(list(costs), axes=axes), costs))
    assert [c.where for c in result.crossovers] == [{"frame_length": 128}, {"frame_length": 256}]
    assert result.axis == ("samples", "frame_length")


def test_extreme_figures_give_a_result_without_nan() -> None:
    state = begun([GRAPH, XLA, EAGER])
    for i, seconds in enumerate([0.0, -1e-9, 1e-300, 1e300, 1.0, 1e-3, 0.0, 5e-324]):
        blocks = tuple(e.Block(arm.id, 0, 1, seconds * (k + 1)) for k, arm in enumerate([GRAPH, XLA, EAGER]))
        state.apply(e.Round(run="r", index=i, blocks=blocks, elapsed_s=1.0))
    phases(state, GRAPH, compute=0.0)
    result = summarise(finish(state))
    figures = [f for r in result.ratios for f in (r.ratio, *r.ci95)]
    figures += [a.median_s for a in result.arms if a.median_s is not None]
    assert all(math.isfinite(f) for f in figures)
    assert b"null" in msgspec.json.encode(result)


def test_a_model_without_an_example_count_has_no_rate() -> None:
    """If the batch size is unknown, a batch does not count as one example."""
    model = ModelInfo(kind="keras", parameters=7, inputs=(), batch="samples")
    counted, unknown, fixed = (measure(begun([GRAPH]), {GRAPH: 1e-3}) for _ in range(3))
    counted.apply(e.ModelOpened(run="r", model=model))
    unknown.apply(e.ModelOpened(run="r", model=msgspec.structs.replace(model, batch="rows")))
    fixed.apply(e.ModelOpened(run="r", model=msgspec.structs.replace(model, batch="")))
    rate = arm_of(summarise(finish(counted)), GRAPH).examples_per_s
    assert rate == pytest.approx(counted.scenario.parameters["samples"] / 1e-3, rel=0.02)
    for state in (unknown, fixed):
        assert arm_of(summarise(finish(state)), GRAPH).examples_per_s is None
