"""What a machine can do at most, what follows for an arm, and for a GPU that is not here."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.made_runs import GPU_COPIED, begun, finish, measure, phases, placed, unavailable
from tests.made import EAGER, GPU_GRAPH, GRAPH
from tuilab.analysis.answer import answer
from tuilab.analysis.reading import measured
from tuilab.analysis.roofline import (
    GpuCall,
    against_roof,
    bandwidth,
    better,
    bounds,
    expectation,
    floor,
    kernel_count,
    sweep_bound,
)
from tuilab.analysis.summary import summarise
from tuilab.analysis.verdicts import judge
from tuilab.model import events as e
from tuilab.model.arms import Arm, ArmPattern
from tuilab.model.claims import Claim, Crosses, Faster, PhaseShare
from tuilab.model.datasheets import SHEETS, DataSheet, Figure
from tuilab.model.roofline import DeviceRoofs, LinkRoof, MemoryRoof, Roofs, Work
from tuilab.model.run import RunState

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
    vector={"float32": Figure(1e12, "made up")},
    tensor={"float16": Figure(8e12, "made up")},
    bandwidth=Figure(100e9, "made up"),
    memory=Figure(1e9, "made up"),
    link=Figure(10e9, "made up"),
    cache=Figure(1e6, "made up"),
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
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.share is not None
        assert found.flop_per_s == pytest.approx(50e9, rel=0.02)
        assert found.share == pytest.approx(0.5, rel=0.02)
        assert found.bound_by == "arithmetic"
        assert "50 % of 100 GFLOP/s float32; bound by arithmetic" in found.sentence.replace("49 %", "50 %")

    def test_bound_by_memory(self) -> None:
        state = without_gpu(2e-3, Work(flop=1e6, inputs=4e6, outputs=6e6))
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

    def test_null_where_its_work_is_not_known(self) -> None:
        state = measure(begun([GRAPH]), {GRAPH: 1e-3})
        assert against_roof(state, state.arms[GRAPH.id], 0) is None

    def test_an_arm_without_work_of_its_own_has_its_twins(self) -> None:
        state = measure(begun([EAGER, GRAPH]), {EAGER: 2e-3, GRAPH: 1e-3})
        told(state, Work(flop=1e6), GRAPH)
        found = against_roof(state, state.arms[EAGER.id], 0)
        assert found is not None and found.flop == 1e6


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
        assert "No GPU can make this faster than 100 µs (all of it TensorFlow starting the call" in text
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
        assert found and {bound.verdict for bound in found} == {"could win"}
        assert "cannot win" not in answer(state)

    def test_copies_that_cost_nothing_are_no_second_figure(self) -> None:
        text = answer(without_gpu(100.0, Work(flop=1e13, inputs=4, outputs=4)))
        assert "× faster, with copies or without." in text and text.count("at most") == 1

    def test_cannot_win(self) -> None:
        text = answer(without_gpu(90e-6, Work(flop=1e6, inputs=1e4, outputs=1e4)))
        assert "A GPU cannot win: no known GPU takes less than 100 µs" in text

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
            == "An H100 at best, by its data sheet, could overtake from 4,096 samples at the earliest."
        )
        assert [point.value for point in found.points] == list(sizes)


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
    assert "does not compute it" in answer(state)
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
