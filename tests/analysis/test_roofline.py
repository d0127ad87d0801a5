"""What a machine can do at most, what follows for an arm, and for a GPU that is not here."""

import math
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.made_runs import GPU_COPIED, begun, finish, measure, phases, placed, unavailable
from tests.made import EAGER, GPU_GRAPH, GRAPH
from tuilab.analysis.answer import answer
from tuilab.analysis.reading import measured
from tuilab.analysis.roofline import (
    NEVER_IDLE,
    GpuCall,
    against_roof,
    bandwidth,
    better,
    bounds,
    expectation,
    floor,
    kernel_count,
    parts_words,
    sweep_bound,
    work_of,
)
from tuilab.analysis.summary import summarise
from tuilab.analysis.verdicts import judge
from tuilab.analysis.words import percent
from tuilab.model import events as e
from tuilab.model.arms import Arm, ArmPattern
from tuilab.model.claims import Claim, Crosses, Faster, PhaseShare
from tuilab.model.datasheets import SHEETS, DataSheet, Rating
from tuilab.model.roofline import ArmRoof, DeviceRoofs, LinkRoof, MemoryRoof, Roofs, Work
from tuilab.model.run import RunState
from tuilab.report.sweep import at_best

LEVELS = (MemoryRoof(1_000, 100e9), MemoryRoof(100_000, 50e9), MemoryRoof(10_000_000, 10e9))
CPU_ROOFS = DeviceRoofs(
    memory=LEVELS,
    triad=10e9,
    peaks={"float32": 100e9, "float64": 50e9, "bfloat16": 200e9},
    launch_s={"eager": 5e-6, "graph": 100e-6, "xla": 80e-6},
    copied_s={"eager": 8e-6, "graph": 110e-6, "xla": 90e-6},
)
GPU_SHEET = DataSheet(
    name="G1",
    family="None",
    vector={"float32": Rating(1e12, "made up")},
    tensor={"float16": Rating(8e12, "made up")},
    bandwidth=Rating(100e9, "made up"),
    memory=Rating(1e9, "made up"),
    link=Rating(10e9, "made up"),
    cache=Rating(1e6, "made up"),
)


def roofs(state: RunState, device: DeviceRoofs = CPU_ROOFS) -> Roofs:
    return Roofs(machine=state.machine.key, at="", seconds=1.0, sync_s=1e-6, devices={"CPU:0": device})


def told(state: RunState, work: Work, *arms: Arm, point: int | None = None) -> RunState:
    """The run with its arms' work and its machine's roofs."""
    for arm in arms:
        for place in state.points if point is None else [state.points[point]]:
            state.apply(e.WorkKnown(run="r", arm=arm.id, point=place.index, work=work))
    state.apply(e.RoofsKnown(run="r", roofs=roofs(state)))
    return state


def without_gpu(cpu_s: float, work: Work) -> RunState:
    state = begun([GRAPH, GPU_GRAPH, GPU_COPIED], gpu=False, no_gpu="none here")
    unavailable(state, GPU_GRAPH, GPU_COPIED)
    return told(measure(state, {GRAPH: cpu_s}), work, GRAPH, GPU_GRAPH, GPU_COPIED)


class TestFloor:
    def test_arithmetic_memory_and_starting(self) -> None:
        found = floor(Work(flop=1e9, inputs=4e6, outputs=6e6), CPU_ROOFS, "graph")
        assert found.arithmetic_s == pytest.approx(10e-3)
        assert found.memory_s == pytest.approx(10e6 / 10e9)
        assert found.total_s == pytest.approx(10e-3 + 100e-6)

    def test_eager_starts_every_op(self) -> None:
        assert floor(Work(flop=0, inputs=0, outputs=0), CPU_ROOFS, "eager", ops=40).total_s == pytest.approx(
            200e-6
        )

    def test_what_is_not_known_counts_as_nothing(self) -> None:
        assert floor(Work(), DeviceRoofs(), "graph").total_s == 0

    def test_the_host_prepares_the_input_on_one_processor_or_all(self) -> None:
        work = Work(host_s=8e-3)
        assert floor(work, CPU_ROOFS, "graph", cores=4).total_s == pytest.approx(8e-3)
        spread = msgspec.structs.replace(work, host_parallel=True)
        assert floor(spread, CPU_ROOFS, "graph", cores=4).total_s == pytest.approx(2e-3)
        assert floor(spread, CPU_ROOFS, "graph").total_s == pytest.approx(8e-3)

    def test_a_gpu_computes_while_the_next_call_starts(self) -> None:
        gpu = msgspec.structs.replace(CPU_ROOFS, link=LinkRoof(latency_s=0, to_device=1e9, to_host=1e9))
        work = Work(flop=1e9, inputs=4e6, outputs=6e6)
        assert floor(work, gpu, "graph", gpu=True).total_s == pytest.approx(10e-3)
        assert floor(work, gpu, "graph", gpu=True, copied=True).total_s == pytest.approx(10e-3 + 4e-3 + 6e-3)

    @given(st.floats(1, 1e9), st.floats(1, 1e9))
    def test_a_larger_set_is_no_faster(self, a: float, b: float) -> None:
        small, large = (bandwidth(LEVELS, x) for x in sorted((a, b)))
        assert large is None or small is None or small >= large

    def test_a_dtype_of_its_own_or_the_highest_peak(self) -> None:
        def time(dtype: str) -> float:
            return floor(Work(flop=1e9, dtype=dtype), CPU_ROOFS, "").arithmetic_s

        assert time("complex128") == time("float64") == pytest.approx(20e-3)
        assert time("tf32") == time("int32") == time("float32")
        assert time("float16") == time("bfloat16") == pytest.approx(5e-3)  # no roof of its own: the highest

    def test_the_best_of_two_measurements(self) -> None:
        state = begun([GRAPH])
        slow = msgspec.structs.replace(
            CPU_ROOFS, peaks={"float32": 50e9}, launch_s={"graph": 300e-6}, memory=LEVELS[:1]
        )
        both = better(roofs(state), roofs(state, slow)).devices["CPU:0"]
        assert (both.peaks["float32"], both.launch_s["graph"]) == (100e9, 100e-6)
        other = msgspec.structs.replace(roofs(state, slow), machine="another")
        assert better(roofs(state), other) is other


class TestArm:
    def test_against_its_roof(self) -> None:
        state = without_gpu(20e-3, Work(flop=1e9, inputs=4e6, outputs=6e6))
        phases(state, GRAPH, compute=20e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.share is not None
        assert found.flop_per_s == pytest.approx(50e9, rel=0.02)
        assert found.share == pytest.approx(0.5, rel=0.02)
        assert found.bound_by == "arithmetic"
        assert "50 % of 100 GFLOP/s float32; bound by arithmetic" in found.sentence.replace("49 %", "50 %")

    def test_bound_by_memory(self) -> None:
        state = phases(without_gpu(2e-3, Work(flop=1e6, inputs=4e6, outputs=6e6)), GRAPH, compute=2e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "memory" and "memory" in found.roof

    def test_bound_by_what_its_phases_show(self) -> None:
        state = without_gpu(2e-3, Work(flop=1e6, inputs=1e4, outputs=1e4))
        phases(state, GRAPH, dispatch=1.8e-3, compute=0.2e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "launches"
        phases(state, GRAPH, input_wait=1.8e-3, compute=0.2e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "input"
        phases(state, GRAPH, 1.2e-3, dispatch=0.8e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "not known" and "is not known" in found.sentence
        phases(state, GRAPH, compute=2e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "compute"

    def test_null_where_its_work_is_not_known(self) -> None:
        state = measure(begun([GRAPH]), {GRAPH: 1e-3})
        assert against_roof(state, state.arms[GRAPH.id], 0) is None

    def test_an_arm_without_work_of_its_own_has_its_twins(self) -> None:
        state = measure(begun([EAGER, GRAPH]), {EAGER: 2e-3, GRAPH: 1e-3})
        told(state, Work(flop=1e6), GRAPH)
        found = against_roof(state, state.arms[EAGER.id], 0)
        assert found is not None and found.flop == 1e6


class TestRaised:
    """No arm is faster than its machine: who beats a roof raises it, for all arms, and says so."""

    WORK = Work(flop=1e9, inputs=1e6, outputs=1e6)

    def run(self, eager_s: float, graph_s: float, work: Work = WORK, **more: float) -> RunState:
        state = measure(begun([EAGER, GRAPH]), {EAGER: eager_s, GRAPH: graph_s})
        state = told(state, work, EAGER, GRAPH)
        state.apply(e.RoofsKnown(run="r", roofs=msgspec.structs.replace(roofs(state), **more)))
        return state

    def found(self, state: RunState, arm: Arm) -> ArmRoof:
        roof = against_roof(state, state.arms[arm.id], 0)
        assert roof is not None
        return roof

    def test_an_arm_that_beats_its_roof_raises_it_for_all(self) -> None:
        state = self.run(16e-3, 8e-3)
        fast, slow = self.found(state, GRAPH), self.found(state, EAGER)
        assert fast.share is None and slow.share == pytest.approx(0.5, rel=0.02)
        above = "above the roof as it was measured (125 GFLOP/s float32, which CPU graph reached)"
        assert above in fast.sentence and "100 %" not in fast.sentence
        assert "of 125 GFLOP/s float32, which CPU graph reached" in slow.sentence

    def test_memory_and_caches_are_raised_for_sets_of_that_size(self) -> None:
        state = self.run(16e-3, 100e-6, Work(flop=1e3, inputs=6e6, outputs=6e6))
        assert "120 GB/s memory, which CPU graph reached" in self.found(state, GRAPH).sentence
        small = self.run(16e-3, 1e-6, Work(flop=1e2, inputs=1e5, outputs=1e5))
        assert "200 GB/s cache (200 kB), which CPU graph reached" in self.found(small, GRAPH).sentence

    def test_a_roof_below_which_all_stay_is_as_measured(self) -> None:
        assert self.found(self.run(30e-3, 20e-3), GRAPH).sentence.count("reached") == 0

    def test_roofs_of_a_busy_machine_are_named_as_such(self) -> None:
        state = self.run(30e-3, 20e-3, others=0.5)
        assert "100 GFLOP/s float32, measured on a busy machine" in self.found(state, GRAPH).sentence

    def test_who_does_not_compute_has_no_share_and_raises_nothing(self) -> None:
        state = self.run(30e-3, 1e-3)
        gone = self.found(state, GRAPH)
        assert gone.share is None and gone.flop_per_s is None
        assert self.found(state, EAGER).share == pytest.approx(1 / 3, rel=0.02)

    @given(
        st.lists(st.floats(1e-7, 1.0), min_size=2, max_size=2),
        st.floats(0, 1e12), st.floats(0, 1e9), st.sampled_from(("float32", "float64", "int32", "complex64")),
    )  # fmt: skip
    def test_no_share_is_above_one(self, times: list[float], flop: float, moved: float, dtype: str) -> None:
        work = Work(flop=flop, inputs=moved, outputs=moved, dtype=dtype, by_dtype={dtype: flop, "tf32": flop})
        state = self.run(*times, work)
        for arm in (EAGER, GRAPH):
            share = self.found(state, arm).share
            assert share is None or 0 <= share <= 1

    def test_what_was_not_counted_is_said_beside_the_share(self) -> None:
        work = msgspec.structs.replace(self.WORK, uncounted=("TopKV2", "Svd", "Qr2", "Eig"))
        found = self.found(self.run(30e-3, 20e-3, work), GRAPH)
        assert "at least 50 % of" in found.sentence.replace("49 %", "50 %")
        assert "(not counted: TopKV2, Svd, Qr2 and 1 more)" in found.sentence
        assert found.uncounted == work.uncounted


class TestGpu:
    def test_the_longest_of_its_parts(self) -> None:
        work = Work(flop=1e9, inputs=11e6, outputs=10e6)
        found = GpuCall(work, CPU_ROOFS, "graph", copied=False).on(GPU_SHEET)
        assert found.arithmetic_s == pytest.approx(1e-3)
        assert found.memory_s == pytest.approx(20e6 / 100e9)  # a megabyte may still lie in the cache
        assert found.seconds == pytest.approx(1e-3)
        copied = GpuCall(work, CPU_ROOFS, "graph", copied=True).on(GPU_SHEET)
        assert copied.seconds == pytest.approx(11e6 / 10e9 + 1e-3 + 10e6 / 10e9)

    def test_starting_a_call_on_this_host(self) -> None:
        found = GpuCall(Work(flop=1, inputs=1, outputs=1), CPU_ROOFS, "xla", copied=False).on(GPU_SHEET)
        assert found.seconds == found.host_s == pytest.approx(80e-6)
        bare = GpuCall(Work(flop=1, inputs=1, outputs=1), None, "xla", copied=False).on(GPU_SHEET)
        assert bare.host_s == 0 and "TensorFlow's own dispatch on this host" in bare.unknown

    def test_what_is_not_known_is_named(self) -> None:
        found = GpuCall(Work(), CPU_ROOFS, "graph", copied=False).on(GPU_SHEET)
        assert found.unknown[:2] == ("the arithmetic", "the bytes it moves")
        assert "a launch's cost on None" in found.unknown

    def test_kernels_are_ops_that_compute(self) -> None:
        def op(name: str, dtype: str = "float32") -> e.Node:
            return e.Node(name=name, op=name, device="CPU:0", dtype=dtype)

        state = placed(
            begun([GRAPH], gpu=False), GRAPH, op("RFFT"), op("Mul"), op("Reshape"), op("Pack", "int32")
        )
        assert kernel_count(state, GPU_GRAPH, 0) == 2
        assert kernel_count(state, Arm("GPU:0", "xla"), 0) == 1

    def test_a_loop_launches_as_often_as_it_runs(self) -> None:
        state = told(begun([GRAPH], gpu=False), Work(flop=1.0, kernels=435.0), GRAPH)
        assert kernel_count(state, GPU_GRAPH, 0) == 435
        assert kernel_count(state, Arm("GPU:0", "xla"), 0) == 1

    def test_an_arm_is_counted_as_another_of_its_mode(self) -> None:
        """Four equal products are four ops of an eager call and one of a graph."""
        state = begun([EAGER, GRAPH, GPU_GRAPH])
        told(state, Work(flop=4.0), EAGER)
        told(state, Work(flop=1.0), GRAPH)
        assert work_of(state, state.arms[GPU_GRAPH.id], 0) == Work(flop=1.0)

    def test_what_the_host_does_is_named_as_that(self) -> None:
        graph = GpuCall(Work(flop=1, inputs=1, outputs=1), CPU_ROOFS, "graph")
        assert "TensorFlow starting the call on this host" in parts_words(graph.on(GPU_SHEET))
        fed = GpuCall(Work(flop=1, inputs=1, outputs=1, host_s=5e-3), CPU_ROOFS, "graph")
        assert "preparing the input on this host" in parts_words(fed.on(GPU_SHEET))
        zlib = GpuCall(Work(inputs=1, to_host=1, host_only=True), CPU_ROOFS, "eager", least_s=2e-3)
        assert "the host's own work" in parts_words(zlib.on(GPU_SHEET))

    def test_launches_of_a_plain_graph_are_not_said_of_every_program(self) -> None:
        state = without_gpu(1e-3, Work(flop=1e6, inputs=1e4, outputs=1e4, kernels=10_000))
        text = answer(state)
        assert "a GPU cannot win" not in text, "cards whose launch costs are not known count none"
        bound = next(b for b in bounds(state, 0, SHEETS["a100"]) if b.input == "resident")
        assert bound.verdict == "cannot win" and "launching 10,000 kernels" in parts_words(bound)
        assert (
            "cannot win as a plain graph, without XLA or CUDA graphs"
            in summarise(state, against="a100").answer
        )

    def test_a_bound_that_says_nothing_is_not_said(self) -> None:
        """Without this host's own dispatch a small call would take less than a nanosecond."""
        state = measure(begun([GRAPH], gpu=False), {GRAPH: 1e-3})
        state.apply(e.WorkKnown(run="r", arm=GRAPH.id, point=0, work=Work(flop=1e3, inputs=1, outputs=1)))
        assert {(b.at_most, b.verdict) for b in bounds(state, 0, SHEETS["h100"])} == {(None, "not known")}
        assert "H100" not in summarise(state, against="h100").answer
        slow = without_gpu(1e4, Work(flop=1e3, inputs=1, outputs=1))
        assert {b.at_most for b in bounds(slow, 0, SHEETS["h100"])} == {None}

    @given(st.sampled_from(sorted(SHEETS)), st.floats(0, 1e15), st.floats(0, 1e12))
    def test_more_work_never_takes_less(self, name: str, flop: float, moved: float) -> None:
        def least(share: float) -> float:
            work = Work(flop=share * flop, inputs=share * moved, outputs=share * moved)
            return GpuCall(work, CPU_ROOFS, "graph", copied=True).on(SHEETS[name]).seconds

        assert least(0.5) <= least(1.0) and math.isfinite(least(1.0))


class TestAnswer:
    def test_could_win_by_at_most(self) -> None:
        state = without_gpu(560e-6, Work(flop=1e6, inputs=1e4, outputs=1e4))
        text = answer(state)
        none = f"None of the {len(SHEETS)} NVIDIA cards known here can make this faster than 100 µs"
        assert f"{none} (all of it TensorFlow starting the call on this host)" in text
        assert "an H100 could be at most 5." in text and "with the input resident, at most" in text
        assert "Measured here:" in text

    def test_starting_a_call_on_a_busy_machine_is_no_bound(self) -> None:
        work = Work(flop=1e6, inputs=1e4, outputs=1e4)
        state = without_gpu(90e-6, work)
        found = bounds(state, 0, SHEETS["h100"])
        assert {bound.verdict for bound in found} == {"cannot win"}
        busy = msgspec.structs.replace(roofs(state), others=0.5)
        state.apply(e.RoofsKnown(run="r", roofs=busy))
        found = bounds(state, 0, SHEETS["h100"])
        assert found and {bound.verdict for bound in found} == {"not known"}
        assert "cannot win" not in answer(state)
        assert "could give at most is not known yet: this host was too busy" in answer(state)

    def test_a_busy_machine_tells_of_a_call_whose_start_is_nothing_to_its_work(self) -> None:
        state = without_gpu(100.0, Work(flop=1e13, inputs=1e4, outputs=1e4))
        idle = answer(state)
        state.apply(e.RoofsKnown(run="r", roofs=msgspec.structs.replace(roofs(state), others=0.5)))
        assert "could be at most" in idle and answer(state) == idle

    def test_copies_that_cost_nothing_are_no_second_figure(self) -> None:
        text = answer(without_gpu(100.0, Work(flop=1e13, inputs=4, outputs=4)))
        assert "× faster, with copies or without." in text and text.count("at most") == 1

    def test_cannot_win(self) -> None:
        text = answer(without_gpu(90e-6, Work(flop=1e6, inputs=1e4, outputs=1e4)))
        assert "A GPU cannot win: none of the 11 NVIDIA cards known here takes less than 100 µs" in text

    def test_nothing_is_said_beside_a_gpu_or_without_roofs(self) -> None:
        state = told(
            measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 1e-3}), Work(flop=1e6), GRAPH
        )
        assert "H100" not in answer(state)
        bare = measure(begun([GRAPH], gpu=False), {GRAPH: 1e-3})
        bare.apply(e.WorkKnown(run="r", arm=GRAPH.id, point=0, work=Work(flop=1e6, inputs=1, outputs=1)))
        assert "GPU can" not in answer(bare)

    def test_a_gpu_that_was_asked_for(self) -> None:
        result = summarise(without_gpu(560e-6, Work(flop=1e6, inputs=1e4, outputs=1e4)), against="t4")
        assert {bound.gpu for bound in result.bounds} == {"t4"} and "a T4 could be" in result.answer

    def test_a_bound_is_no_sample(self) -> None:
        state = without_gpu(560e-6, Work(flop=1e6, inputs=1e4, outputs=1e4))
        result = summarise(state)
        assert result.bounds and not result.ratios and [a.id for a in result.arms if a.median_s] == [GRAPH.id]

    def test_a_call_that_does_not_fit_cannot_win(self) -> None:
        found = bounds(without_gpu(5.0, Work(flop=1e6, inputs=1e11, outputs=1e11)), 0, SHEETS["h100"])
        assert found and all(not bound.fits and bound.verdict == "cannot win" for bound in found)


class TestSweep:
    def test_the_least_size_at_which_it_could_overtake(self) -> None:
        sizes = (256, 1_024, 4_096, 16_384)
        state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=sizes)
        measure(unavailable(state, GPU_GRAPH), {GRAPH: lambda n: 40e-6 * n / 1_024})
        told(state, Work(flop=1e4, inputs=1e3, outputs=1e3), GRAPH, GPU_GRAPH)
        found = sweep_bound(state, SHEETS["h100"])
        assert found is not None and found.overtakes_from == 4_096
        assert (
            found.sentence
            == "An H100 could overtake from 4,096 samples at the earliest, by its data sheet and what starting a "
            "call costs here."
        )
        assert [point.value for point in found.points] == list(sizes)
        assert found.sentence not in answer(state), "while it runs, sizes are missing"
        assert found.sentence in answer(finish(state))

    def test_one_size_too_busy_to_tell_leaves_no_sentence_of_the_others(self) -> None:
        state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=(256, 1_024))
        measure(unavailable(state, GPU_GRAPH), {GRAPH: lambda n: 4e-2 * n})
        for index, flop in enumerate((1e8, 1e13)):
            # At the larger size starting the call is too short to matter.
            for arm in (GRAPH, GPU_GRAPH):
                work = Work(flop=flop, inputs=1e5, outputs=1e5)
                state.apply(e.WorkKnown(run="r", arm=arm.id, point=index, work=work))
        state.apply(e.RoofsKnown(run="r", roofs=msgspec.structs.replace(roofs(state), others=0.5)))
        told_of = summarise(finish(state))
        assert sweep_bound(state, SHEETS["h100"]) is not None, "the larger size alone could be told"
        assert (NEVER_IDLE in told_of.answer) != ("H100" in told_of.answer.replace(NEVER_IDLE, ""))

    @pytest.mark.parametrize(("call_s", "said"), [(40e-6, "by its data sheet"), (40e-3, "below the picture")])
    def test_a_bound_that_lies_under_the_picture_says_so(self, call_s: float, said: str) -> None:
        state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=(256, 1_024))
        measure(unavailable(state, GPU_GRAPH), {GRAPH: lambda n: call_s * n / 1_024})
        told(state, Work(flop=1e4, inputs=1e3, outputs=1e3), GRAPH, GPU_GRAPH)
        assert [series.note for series in at_best(summarise(finish(state)))] == [said]

    def test_on_a_host_that_was_never_idle_nothing_is_said_but_of_a_gpu_that_was_asked_for(self) -> None:
        state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=(256, 1_024))
        measure(unavailable(state, GPU_GRAPH), {GRAPH: lambda n: 4e-6 * n})
        told(state, Work(flop=1e8, inputs=1e5, outputs=1e5), GRAPH, GPU_GRAPH)
        state.apply(e.RoofsKnown(run="r", roofs=msgspec.structs.replace(roofs(state), others=0.5)))
        assert NEVER_IDLE in summarise(state).answer and summarise(state).sweep_bound is None
        assert sweep_bound(state, SHEETS["h100"]) is not None, "there would be something to say"
        asked = summarise(state, against="t4")
        assert asked.sweep_bound is not None and asked.sweep_bound.gpu == "t4"


GPU, CPU = ArmPattern(device="GPU"), ArmPattern(device="CPU")


class TestClaims:
    def test_impossible_where_no_gpu_could(self) -> None:
        state = without_gpu(150e-6, Work(flop=1e6, inputs=1e4, outputs=1e4))
        twice = judge(Claim(text="t", when=Faster(a=GPU, b=CPU, by=2.0)), state)
        assert twice.verdict == "impossible" and twice.evidence.startswith("By a bound, not a measurement:")
        assert judge(Claim(text="t", when=Faster(a=GPU, b=CPU)), state).verdict == "untestable"

    def test_confirmed_where_the_cpu_is_faster_than_any_gpu_can_be(self) -> None:
        state = without_gpu(90e-6, Work(flop=1e6, inputs=1e4, outputs=1e4))
        assert judge(Claim(text="t", when=Faster(a=CPU, b=GPU)), state).verdict == "confirmed"
        assert judge(Claim(text="t", when=Faster(a=CPU, b=GPU, by=1.5)), state).verdict == "untestable"

    def test_a_crossing_that_cannot_be(self) -> None:
        claim = Claim(text="t", when=Crosses(a=GPU, b=CPU, axis="samples", low=256, high=4_096))
        for cost, word in ((50e-6, "impossible"), (500e-6, "untestable")):
            state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=(256, 1_024, 4_096))
            measure(unavailable(state, GPU_GRAPH), {GRAPH: cost})
            told(state, Work(flop=1e4, inputs=1e3, outputs=1e3), GRAPH, GPU_GRAPH)
            assert judge(claim, state).verdict == word

    def test_copies_that_cannot_outweigh_the_host(self) -> None:
        zlib, gpu = Arm("CPU:0", "eager", variant="zlib"), Arm("GPU:0", "eager", variant="zlib")
        claim = Claim(
            text="t",
            when=PhaseShare(
                phases=("copy_in", "copy_out"), share=0.5, arms=ArmPattern(device="GPU", variant="zlib")
            ),
        )
        for size, word in ((4e6, "impossible"), (40e6, "untestable")):
            state = measure(unavailable(begun([zlib, gpu], gpu=False), gpu), {zlib: 0.2})
            phases(state, zlib, copy_out=1e-3, compress=0.198, copy_in=1e-3)
            told(state, Work(inputs=size, to_host=size, host_only=True), zlib, gpu)
            assert judge(claim, state).verdict == word

    def test_a_gpu_against_the_hosts_own_library(self) -> None:
        zlib, gpu_zlib = Arm("CPU:0", "eager", variant="zlib"), Arm("GPU:0", "eager", variant="zlib")
        gpu = Arm("GPU:0", "graph", variant="quantise")
        when = Faster(
            a=ArmPattern(device="GPU", variant="quantise"), b=ArmPattern(device="GPU", variant="zlib")
        )
        for host_s, word in ((0.5, "confirmed"), (5e-3, "untestable")):
            state = unavailable(begun([zlib, gpu_zlib, gpu], gpu=False), gpu_zlib, gpu)
            measure(state, {zlib: host_s})
            told(state, Work(inputs=4e6, to_host=4e6, host_only=True), zlib, gpu_zlib)
            told(state, Work(flop=5e6, inputs=4e6, outputs=1e6), gpu)
            assert judge(Claim(text="t", when=when), state).verdict == word

    def test_none_beside_a_gpu(self) -> None:
        state = told(measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-4}), Work(flop=1.0), GRAPH, GPU_GRAPH)
        assert judge(Claim(text="t", when=Faster(a=GPU, b=CPU, by=9)), state).verdict == "undecided"


def test_what_to_expect_before_anything_is_measured() -> None:
    state = begun([GRAPH])
    small = expectation(Work(flop=1e4, inputs=1e3, outputs=1e3), roofs(state))
    assert "starting the call will bind it, 100 µs at least where the work itself needs" in small
    large = expectation(Work(flop=1e12, inputs=1e3, outputs=1e3), roofs(state))
    assert "arithmetic will bind it" in large
    assert "operations a byte" in expectation(Work(flop=1e12, inputs=1e3, outputs=1e3), None)


def test_an_arm_beyond_its_machines_peak_does_not_compute_it() -> None:
    """1 GFLOP in 1 ms would be 1 TFLOP/s, of which this machine does a tenth in float32, a fifth at most."""
    state = measure(begun([EAGER, GRAPH]), {EAGER: 20e-3, GRAPH: 1e-3})
    state = finish(told(state, Work(flop=1e9, inputs=1e6, outputs=1e6), EAGER, GRAPH))
    assert [arm.arm for arm in measured(state, 0)] == [EAGER]
    assert "does not do the work" in answer(state)
    gone, kept = (next(a for a in summarise(state).arms if a.id == arm.id) for arm in (GRAPH, EAGER))
    assert [flag.code for flag in gone.flags] == ["does-not-compute"] and "200 GFLOP/s" in gone.flags[
        0
    ].message
    assert not any(flag.code == "does-not-compute" for flag in kept.flags)


@pytest.mark.parametrize("seconds", [4e-3, 10e-3])
def test_an_arm_near_the_peak_is_not_accused(seconds: float) -> None:
    """A peak is measured on a busy machine too, and of another product than the arm's."""
    state = measure(begun([EAGER, GRAPH]), {EAGER: 20e-3, GRAPH: seconds})
    told(state, Work(flop=1e9, inputs=1e6, outputs=1e6), EAGER, GRAPH)
    assert len(measured(finish(state), 0)) == 2


def test_fewer_operations_than_usual_are_no_deceit() -> None:
    """Where a faster way of computing it is known, only the operations that no way avoids count."""
    state = measure(begun([EAGER, GRAPH]), {EAGER: 20e-3, GRAPH: 1e-3})
    told(state, Work(flop=1e9, least_flop=1e7, inputs=1e6, outputs=1e6), EAGER, GRAPH)
    assert len(measured(finish(state), 0)) == 2


# Programs whose best possible time on a GPU is known: kernels that run one after another, each at the peak of its
# dtype or at the memory's bandwidth, whichever takes longer, with nothing lost between them.
Kernel = tuple[str, float, float]
"""dtype, operations, bytes."""
SIDES = (64, 512, 4_096, 16_384)
PROGRAMS: dict[str, tuple[list[Kernel], str, bool]] = {
    **{
        f"product-{dtype}-{n}": ([(dtype, (8 if dtype == "complex64" else 2) * n**3, 3 * 4 * n**2)], "graph", False)
        for dtype in ("float32", "tf32", "float64", "float16", "bfloat16", "complex64")
        for n in SIDES
    },
    **{
        f"product-copied-{dtype}-{n}": ([(dtype, 2 * n**3, 3 * 4 * n**2)], "graph", True)
        for dtype in ("float32", "float64")
        for n in SIDES
    },
    **{f"chain-{k}-of-{n}": ([("float32", n**2, 8 * n**2)] * k, "graph", False) for k in (10, 300) for n in SIDES},
    **{f"chain-xla-{k}": ([("float32", k * 1e6, 8e6)], "xla", False) for k in (10, 100, 1_000)},
    **{f"eager-{k}": ([("float32", 1e5, 1e5)] * k, "eager", False) for k in (1, 10, 100, 1_000)},
    **{f"lookup-{n}": ([("float32", 0.0, 8.0 * n)], "graph", False) for n in (10**3, 10**6, 10**9)},
    **{f"transform-{n}": ([("complex64", 5 * n * math.log2(n), 16 * n)], "graph", False) for n in (2**10, 2**16, 2**24)},
    **{
        f"mixed-{first}-{second}-{n}": ([(first, 2 * n**3, 8 * n**2), (second, n**2, 8 * n**2)], "graph", False)
        for first, second in (("tf32", "float32"), ("float16", "float32"), ("float64", "float32"), ("tf32", "float64"))
        for n in (512, 4_096)
    },
}  # fmt: skip


def best_possible(kernels: list[Kernel], mode: str, copied: bool, sheet: DataSheet) -> float:
    """Seconds that the program takes on a GPU of that data sheet where nothing is lost."""
    cached, launch = (
        sheet.cache.value if sheet.cache else math.inf,
        sheet.launch.value if sheet.launch else 0.0,
    )
    done, launches = 0.0, 1 if mode == "xla" else len(kernels)
    for dtype, flop, moved in kernels:
        top = sheet.peak(dtype)
        arithmetic = flop / top.value if top is not None else 0.0
        done += max(arithmetic, max(0.0, moved - cached) / sheet.bandwidth.value)
    host = CPU_ROOFS.copied_s if copied else CPU_ROOFS.launch_s
    begun = max(host[mode] * (len(kernels) if mode == "eager" else 1), launches * launch)
    if not copied:
        return max(begun, done)
    # The device may compute while the host still starts the rest; the results travel last.
    way_in, way_out = kernels[0][2] / 2 / sheet.link.value, kernels[-1][2] / 2 / sheet.link.value
    return max(begun, way_in + done) + way_out


def test_there_are_sixty_programs() -> None:
    assert len(PROGRAMS) >= 60


def call_of(name: str) -> GpuCall:
    """What the bound is worked out of, for that program."""
    kernels, mode, copied = PROGRAMS[name]
    by_dtype: dict[str, float] = {}
    for dtype, flop, _ in kernels:
        by_dtype[dtype] = by_dtype.get(dtype, 0.0) + flop
    work = Work(
        flop=sum(by_dtype.values()),
        by_dtype=by_dtype,
        # What one kernel hands to the next may stay in a cache, so only the ends are moved for certain.
        inputs=kernels[0][2] / 2,
        outputs=kernels[-1][2] / 2,
        kernels=len(kernels),
    )
    return GpuCall(
        work, CPU_ROOFS, mode, copied, ops=len(kernels), kernels=1 if mode == "xla" else len(kernels)
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_programs_best_time_beats_the_bound(name: str) -> None:
    kernels, mode, copied = PROGRAMS[name]
    call = call_of(name)
    for sheet in SHEETS.values():
        bound, best = call.on(sheet).seconds, best_possible(kernels, mode, copied, sheet)
        assert bound <= best * (1 + 1e-9)
        assert len(kernels) > 1 or bound == pytest.approx(best, rel=0.05), (
            "a bound that no program comes near"
        )


KINDS = {
    "one product of two matrices": r"product-(?!copied)",
    "one product, its factors copied in each call": "product-copied",
    "ops by element, one after another, as a graph": r"chain-\d",
    "the same, as one program of XLA's": "chain-xla",
    "small ops one by one, eager": "eager",
    "rows looked up in a table": "lookup",
    "a Fourier transform": "transform",
    "a product, then ops by element in another dtype": "mixed",
}
"""The programs by what they do, as docs/measuring.md lists them."""


def test_the_table_of_bounds_in_the_papers_is_what_they_come_to() -> None:
    rows, counted = [], 0
    for kind, begin in KINDS.items():
        names = [name for name in PROGRAMS if re.match(begin, name)]
        shares = [
            call_of(name).on(sheet).seconds / best_possible(*PROGRAMS[name], sheet)
            for name in names
            for sheet in SHEETS.values()
        ]
        low, high = percent(min(shares)), percent(max(shares))
        rows.append(f"| {kind} | {len(names)} | {low if low == high else f'{low} to {high}'} |")
        counted += len(names)
    assert counted == len(PROGRAMS)
    told = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text()
    assert [row for row in rows if row not in told] == [], "\n".join(rows)
