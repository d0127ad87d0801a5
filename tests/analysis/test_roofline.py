import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.made_runs import GPU_COPIED, begun, finish, measure, phases, unavailable
from tests.made import EAGER, GPU_GRAPH, GRAPH
from tuilab.analysis.answer import answer
from tuilab.analysis.reading import measured
from tuilab.analysis.roofline import (
    bandwidth,
    better,
    floor,
    reach,
)
from tuilab.analysis.roofline_words import against_roof, expectation
from tuilab.analysis.summary import summarise
from tuilab.analysis.verdicts import judge
from tuilab.model import events as e
from tuilab.model.arms import Arm, ArmPattern
from tuilab.model.claims import Claim, Crosses, Faster, PhaseShare
from tuilab.model.datasheets import DataSheet, Rating
from tuilab.model.models import ModelInfo
from tuilab.model.roofline import ArmRoof, DeviceRoofs, LinkRoof, MemoryRoof, Roofs, Work
from tuilab.model.run import RunState
from tuilab.model.scenario import Scenario
from tuilab.report.text import table

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


def with_work(state: RunState, work: Work, *arms: Arm, point: int | None = None) -> RunState:
    for arm in arms:
        for place in state.points if point is None else [state.points[point]]:
            state.apply(e.WorkKnown(run="r", arm=arm.id, point=place.index, work=work))
    state.apply(e.RoofsKnown(run="r", roofs=roofs(state)))
    return state


def without_gpu(cpu_s: float, work: Work, spread: float = 0.01) -> RunState:
    state = begun([GRAPH, GPU_GRAPH, GPU_COPIED], gpu=False, no_gpu="none here")
    unavailable(state, GPU_GRAPH, GPU_COPIED)
    return with_work(measure(state, {GRAPH: cpu_s}, spread=spread), work, GRAPH, GPU_GRAPH, GPU_COPIED)


class TestFloor:
    def test_the_limit_is_arithmetic_or_memory_or_starting_ops(self) -> None:
        found = floor(Work(flop=1e9, inputs=4e6, outputs=6e6), CPU_ROOFS, "graph")
        assert found.arithmetic_s == pytest.approx(10e-3)
        assert found.memory_s == pytest.approx(10e6 / 10e9)
        assert found.total_s == pytest.approx(10e-3 + 100e-6)

    def test_in_eager_mode_every_op_is_started(self) -> None:
        assert floor(Work(flop=0, inputs=0, outputs=0), CPU_ROOFS, "eager", ops=40).total_s == pytest.approx(
            200e-6
        )

    def test_unknown_parts_count_as_zero(self) -> None:
        assert floor(Work(), DeviceRoofs(), "graph").total_s == 0

    def test_the_host_prepares_input_on_one_or_all_processors(self) -> None:
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
    def test_a_larger_working_set_is_not_faster(self, a: float, b: float) -> None:
        small, large = (bandwidth(LEVELS, x) for x in sorted((a, b)))
        assert large is None or small is None or small >= large

    def test_a_dtype_without_its_own_peak_uses_the_highest(self) -> None:
        def time(dtype: str) -> float:
            return floor(Work(flop=1e9, dtype=dtype), CPU_ROOFS, "").arithmetic_s

        assert time("complex128") == time("float64") == pytest.approx(20e-3)
        assert time("tf32") == time("int32") == time("float32")
        # This dtype has no measured roof, so the highest roof applies.
        assert time("float16") == time("bfloat16") == pytest.approx(5e-3)

    def test_the_better_of_two_measurements_counts(self) -> None:
        state = begun([GRAPH])
        slow = msgspec.structs.replace(
            CPU_ROOFS, peaks={"float32": 50e9}, launch_s={"graph": 300e-6}, memory=LEVELS[:1]
        )
        both = better(roofs(state), roofs(state, slow)).devices["CPU:0"]
        assert (both.peaks["float32"], both.launch_s["graph"]) == (100e9, 100e-6)
        other = msgspec.structs.replace(roofs(state, slow), machine="another")
        assert better(roofs(state), other) is other


class TestArm:
    def test_an_arm_is_compared_with_its_roof(self) -> None:
        state = without_gpu(20e-3, Work(flop=1e9, inputs=4e6, outputs=6e6))
        phases(state, GRAPH, compute=20e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.share is not None
        assert found.flop_per_s == pytest.approx(50e9, rel=0.02)
        assert found.share == pytest.approx(0.5, rel=0.02)
        assert found.bound_by == "arithmetic"
        assert "bound by arithmetic;" in found.sentence
        assert found.sentence.replace("49%", "50%").endswith("50% of 100 GFLOP/s float32.")

    def test_an_arm_limited_by_memory_is_named(self) -> None:
        state = phases(without_gpu(2e-3, Work(flop=1e6, inputs=4e6, outputs=6e6)), GRAPH, compute=2e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "memory" and "memory" in found.roof

    def test_the_bottleneck_follows_from_the_phases(self) -> None:
        state = without_gpu(2e-3, Work(flop=1e6, inputs=1e4, outputs=1e4))
        phases(state, GRAPH, dispatch=1.8e-3, compute=0.2e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "launches"
        phases(state, GRAPH, input_wait=1.8e-3, compute=0.2e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "input"
        phases(state, GRAPH, 1.2e-3, dispatch=0.8e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "not known" and "is unknown" in found.sentence
        phases(state, GRAPH, compute=2e-3)
        found = against_roof(state, state.arms[GRAPH.id], 0)
        assert found is not None and found.bound_by == "compute"

    def test_an_arm_with_unknown_work_has_no_share_of_the_roof(self) -> None:
        state = measure(begun([GRAPH]), {GRAPH: 1e-3})
        assert against_roof(state, state.arms[GRAPH.id], 0) is None

    def test_an_arm_without_a_work_count_uses_its_twin(self) -> None:
        state = measure(begun([EAGER, GRAPH]), {EAGER: 2e-3, GRAPH: 1e-3})
        with_work(state, Work(flop=1e6), GRAPH)
        found = against_roof(state, state.arms[EAGER.id], 0)
        assert found is not None and found.flop == 1e6


class TestRaised:
    """An arm that exceeds a measured roof raises that roof for all arms, because no arm can exceed the true
    limit of its machine. A message names the arm.
    """

    WORK = Work(flop=1e9, inputs=1e6, outputs=1e6)

    def run(self, eager_s: float, graph_s: float, work: Work = WORK, **more: float) -> RunState:
        state = measure(begun([EAGER, GRAPH]), {EAGER: eager_s, GRAPH: graph_s})
        state = with_work(state, work, EAGER, GRAPH)
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
        above = "above the measured roof (125 GFLOP/s float32, which CPU graph reached)"
        assert above in fast.sentence and "100%" not in fast.sentence
        assert "of 125 GFLOP/s float32, which CPU graph reached" in slow.sentence

    def test_a_faster_arm_raises_the_memory_roof_for_its_set_size(self) -> None:
        state = self.run(16e-3, 100e-6, Work(flop=1e3, inputs=6e6, outputs=6e6))
        assert "120 GB/s memory, which CPU graph reached" in self.found(state, GRAPH).sentence
        small = self.run(16e-3, 1e-6, Work(flop=1e2, inputs=1e5, outputs=1e5))
        assert "200 GB/s cache (200 kB), which CPU graph reached" in self.found(small, GRAPH).sentence

    def test_a_roof_that_no_arm_exceeds_stays_as_measured(self) -> None:
        assert self.found(self.run(30e-3, 20e-3), GRAPH).sentence.count("reached") == 0

    def test_roofs_of_a_busy_machine_are_marked(self) -> None:
        state = self.run(30e-3, 20e-3, others=0.5)
        found = self.found(state, GRAPH)
        assert "100 GFLOP/s float32, measured on a busy machine" in found.sentence
        assert found.share_words == "≤ 50%", "the roof may be too low"
        shown = table(summarise(state), details=False)
        assert "≤ 50%" in shown and "so the roofs may be too low" in shown
        assert "≤" not in table(summarise(self.run(30e-3, 20e-3)), details=False)

    def test_an_arm_that_does_not_compute_has_no_share_and_raises_no_roof(self) -> None:
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

    def test_uncounted_work_is_reported_with_the_share(self) -> None:
        work = msgspec.structs.replace(self.WORK, uncounted=("TopKV2", "Svd", "Qr2", "Eig"))
        found = self.found(self.run(30e-3, 20e-3, work), GRAPH)
        assert "at least 50% of" in found.sentence.replace("49%", "50%")
        assert "(not counted: TopKV2, Svd, Qr2 and 1 more)" in found.sentence
        assert found.uncounted == work.uncounted


GPU, CPU = ArmPattern(device="GPU"), ArmPattern(device="CPU")


class TestClaims:
    def test_a_claim_that_cannot_hold_on_any_gpu_is_impossible(self) -> None:
        state = without_gpu(150e-6, Work(flop=1e6, inputs=1e4, outputs=1e4))
        twice = judge(Claim(text="t", when=Faster(a=GPU, b=CPU, by=2.0)), state)
        assert twice.verdict == "impossible" and twice.evidence.startswith(
            "Derived from a bound, not measured:"
        )
        assert judge(Claim(text="t", when=Faster(a=GPU, b=CPU)), state).verdict == "untestable"

    def test_float32_work_is_impossible_only_if_tf32_is_too_slow_as_well(self) -> None:
        """The fastest card needs 74 ms in full precision and 9 ms in TF32, TensorFlow's default."""
        parts = (
            {"flop": 1e13, "inputs": 1e4, "outputs": 1e4},
            {"flop": 1e13, "by_dtype": {"float32": 1e13}, "inputs": 1e4, "outputs": 1e4},
        )
        for work in parts:
            state = without_gpu(100.0, Work(**work))
            words = [
                judge(Claim(text="t", when=Faster(a=GPU, b=CPU, by=by)), state).verdict
                for by in (2_000, 20_000)
            ]
            assert words == ["untestable", "impossible"], work
        double = without_gpu(100.0, Work(flop=1e13, inputs=1e4, outputs=1e4, dtype="float64"))
        assert judge(Claim(text="t", when=Faster(a=GPU, b=CPU, by=2_000)), double).verdict == "impossible"

    def test_a_claim_is_confirmed_if_the_cpu_is_faster_than_any_gpu_can_be(self) -> None:
        state = without_gpu(90e-6, Work(flop=1e6, inputs=1e4, outputs=1e4))
        assert judge(Claim(text="t", when=Faster(a=CPU, b=GPU)), state).verdict == "confirmed"
        assert judge(Claim(text="t", when=Faster(a=CPU, b=GPU, by=1.5)), state).verdict == "untestable"

    def test_an_impossible_crossing_is_reported(self) -> None:
        claim = Claim(text="t", when=Crosses(a=GPU, b=CPU, axis="samples", low=256, high=4_096))
        for cost, word in ((50e-6, "impossible"), (500e-6, "untestable")):
            state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=(256, 1_024, 4_096))
            measure(unavailable(state, GPU_GRAPH), {GRAPH: cost})
            with_work(state, Work(flop=1e4, inputs=1e3, outputs=1e3), GRAPH, GPU_GRAPH)
            assert judge(claim, state).verdict == word

    def test_a_claim_about_copies_too_short_to_matter_is_impossible(self) -> None:
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
            with_work(state, Work(inputs=size, to_host=size, host_only=True), zlib, gpu)
            assert judge(claim, state).verdict == word

    def test_a_gpu_claim_against_a_host_library_is_judged_by_the_bound(self) -> None:
        zlib, gpu_zlib = Arm("CPU:0", "eager", variant="zlib"), Arm("GPU:0", "eager", variant="zlib")
        gpu = Arm("GPU:0", "graph", variant="quantise")
        when = Faster(
            a=ArmPattern(device="GPU", variant="quantise"), b=ArmPattern(device="GPU", variant="zlib")
        )
        for host_s, word in ((0.5, "confirmed"), (5e-3, "untestable")):
            state = unavailable(begun([zlib, gpu_zlib, gpu], gpu=False), gpu_zlib, gpu)
            measure(state, {zlib: host_s})
            with_work(state, Work(inputs=4e6, to_host=4e6, host_only=True), zlib, gpu_zlib)
            with_work(state, Work(flop=5e6, inputs=4e6, outputs=1e6), gpu)
            assert judge(Claim(text="t", when=when), state).verdict == word

    def test_no_prediction_is_made_on_a_machine_with_a_gpu(self) -> None:
        state = with_work(measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-4}), Work(flop=1.0), GRAPH, GPU_GRAPH)
        assert judge(Claim(text="t", when=Faster(a=GPU, b=CPU, by=9)), state).verdict == "undecided"


def test_the_roofline_predicts_times_before_anything_is_measured() -> None:
    state = begun([GRAPH])
    small = expectation(Work(flop=1e4, inputs=1e3, outputs=1e3), roofs(state))
    assert "it takes at least 100 µs (starting the call); the work itself needs" in small
    large = expectation(Work(flop=1e12, inputs=1e3, outputs=1e3), roofs(state))
    assert " (arithmetic)" in large and "bound by" not in small + large
    assert "operations per byte" in expectation(Work(flop=1e12, inputs=1e3, outputs=1e3), None)


def test_an_arm_faster_than_the_peak_of_its_machine_does_not_compute() -> None:
    """1 GFLOP in 1 ms is 1 TFLOP/s. This machine reaches a tenth of this rate in float32, and at most a fifth
    in any dtype.
    """
    state = measure(begun([EAGER, GRAPH]), {EAGER: 20e-3, GRAPH: 1e-3})
    state = finish(with_work(state, Work(flop=1e9, inputs=1e6, outputs=1e6), EAGER, GRAPH))
    assert [arm.arm for arm in measured(state, 0)] == [EAGER]
    assert "does not do the requested work" in answer(state)
    state.model = ModelInfo(kind="keras", parameters=1, inputs=(), batch="batch")
    state.scenario = Scenario("model", {"batch": 32})
    gone, kept = (next(a for a in summarise(state).arms if a.id == arm.id) for arm in (GRAPH, EAGER))
    assert kept.examples_per_s and gone.examples_per_s is None
    assert [flag.code for flag in gone.flags] == ["does-not-compute"] and "200 GFLOP/s" in gone.flags[
        0
    ].message
    assert not any(flag.code == "does-not-compute" for flag in kept.flags)


@pytest.mark.parametrize("seconds", [4e-3, 10e-3])
def test_an_arm_near_the_peak_is_not_accused(seconds: float) -> None:
    """The measured peak may be too low: it comes from a different matrix product, perhaps on a busy
    machine.
    """
    state = measure(begun([EAGER, GRAPH]), {EAGER: 20e-3, GRAPH: seconds})
    with_work(state, Work(flop=1e9, inputs=1e6, outputs=1e6), EAGER, GRAPH)
    assert len(measured(finish(state), 0)) == 2


def test_fewer_operations_than_usual_raise_no_suspicion() -> None:
    state = measure(begun([EAGER, GRAPH]), {EAGER: 20e-3, GRAPH: 1e-3})
    with_work(state, Work(flop=1e9, least_flop=1e7, inputs=1e6, outputs=1e6), EAGER, GRAPH)
    assert len(measured(finish(state), 0)) == 2


def test_the_rate_and_the_share_of_the_roof_count_the_same_operations() -> None:
    state = measure(begun([EAGER, GRAPH]), {EAGER: 20e-3, GRAPH: 1e-3})
    with_work(state, Work(flop=1e9, least_flop=1e7, inputs=1.0, outputs=1.0), EAGER, GRAPH)
    found = reach(state, state.arms[EAGER.id], 0)
    assert found is not None and found.flop_per_s == pytest.approx(1e9 / 20e-3, rel=0.1)
    assert found.least is not None and found.share == pytest.approx(100 * found.least.work_s / 20e-3, rel=0.1)
