import math
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.made_runs import begun, finish, measure, placed, unavailable
from tests.analysis.test_roofline import CPU_ROOFS, GPU_SHEET, roofs, with_work, without_gpu
from tests.made import EAGER, GPU_GRAPH, GRAPH
from tuilab.analysis.answer import answer
from tuilab.analysis.bound import GpuCall, bounds
from tuilab.analysis.bound_words import bound_sentence, bound_words, parts_words, sweep_bound
from tuilab.analysis.reading import NUMPY_INSIDE
from tuilab.analysis.roofline import kernel_count, work_of
from tuilab.analysis.summary import summarise
from tuilab.analysis.words import percent
from tuilab.model import events as e
from tuilab.model.account import Account, Part
from tuilab.model.arms import Arm
from tuilab.model.datasheets import SHEETS, DataSheet
from tuilab.model.roofline import Kernels, Stay, Work
from tuilab.report.sweep import at_best


class TestGpu:
    def test_the_bound_is_its_longest_part(self) -> None:
        work = Work(flop=1e9, inputs=11e6, outputs=10e6)
        found = GpuCall(work, CPU_ROOFS, "graph", copied=False).on(GPU_SHEET)
        assert found.arithmetic_s == pytest.approx(1e-3)
        assert found.memory_s == pytest.approx(20e6 / 100e9)
        assert found.seconds == pytest.approx(1e-3)
        copied = GpuCall(work, CPU_ROOFS, "graph", copied=True).on(GPU_SHEET)
        assert copied.seconds == pytest.approx(11e6 / 10e9 + 1e-3 + 10e6 / 10e9)

    def test_the_bound_includes_starting_a_call_on_this_host(self) -> None:
        found = GpuCall(Work(flop=1, inputs=1, outputs=1), CPU_ROOFS, "xla", copied=False).on(GPU_SHEET)
        assert found.seconds == found.host_s == pytest.approx(80e-6)
        bare = GpuCall(Work(flop=1, inputs=1, outputs=1), None, "xla", copied=False).on(GPU_SHEET)
        assert bare.host_s == 0 and "TensorFlow's dispatch overhead on this host" in bare.unknown

    def test_unknown_parts_of_the_bound_are_named(self) -> None:
        found = GpuCall(Work(), CPU_ROOFS, "graph", copied=False).on(GPU_SHEET)
        assert found.unknown[:2] == ("the arithmetic", "the bytes it moves")

    def test_kernels_are_ops_that_compute(self) -> None:
        def op(name: str, dtype: str = "float32") -> e.Node:
            return e.Node(name=name, op=name, device="CPU:0", dtype=dtype)

        state = placed(
            begun([GRAPH], gpu=False), GRAPH, op("RFFT"), op("Mul"), op("Reshape"), op("Pack", "int32")
        )
        assert kernel_count(state, GPU_GRAPH, 0) == 2
        assert kernel_count(state, Arm("GPU:0", "xla"), 0) == 1

    def test_a_loop_launches_as_often_as_it_runs(self) -> None:
        state = with_work(begun([GRAPH], gpu=False), Work(flop=1.0, kernels=435.0), GRAPH)
        assert kernel_count(state, GPU_GRAPH, 0) == 435
        assert kernel_count(state, Arm("GPU:0", "xla"), 0) == 1

    def test_an_arm_is_counted_as_another_of_its_mode(self) -> None:
        """Four equal matrix products are four ops in an eager call, but only one op in a graph, which merges
        duplicates.
        """
        state = begun([EAGER, GRAPH, GPU_GRAPH])
        with_work(state, Work(flop=4.0), EAGER)
        with_work(state, Work(flop=1.0), GRAPH)
        assert work_of(state, state.arms[GPU_GRAPH.id], 0) == Work(flop=1.0)

    def test_host_work_is_named_as_host_work(self) -> None:
        graph = GpuCall(Work(flop=1, inputs=1, outputs=1), CPU_ROOFS, "graph")
        assert "TensorFlow's dispatch overhead on this host" in parts_words(graph.on(GPU_SHEET))
        fed = GpuCall(Work(flop=1, inputs=1, outputs=1, host_s=5e-3), CPU_ROOFS, "graph")
        assert "preparing the input on this host" in parts_words(fed.on(GPU_SHEET))
        zlib = GpuCall(Work(inputs=1, to_host=1, host_only=True), CPU_ROOFS, "eager", least_s=2e-3)
        assert "the host's own work" in parts_words(zlib.on(GPU_SHEET))

    @pytest.mark.parametrize(
        "work",
        [
            Work(inputs=1e6, outputs=1e6, to_device=1e6, host_feeds=True),
            Work(inputs=8, to_host=8, host_only=True),
        ],
        ids=["a pipeline", "a library"],
    )
    def test_a_gpu_cannot_win_if_the_host_does_all_the_work(self, work: Work) -> None:
        state = without_gpu(14e-3, work)
        assert {b.verdict for b in bounds(state, 0, SHEETS["h100"])} == {"cannot win"}
        assert "A GPU cannot win" in answer(state)

    @pytest.mark.parametrize(
        ("python_s", "said"),
        [
            (0.95e-3, r"at most 1\.59× \(limited by the call's own Python code\)"),
            (
                0.0,
                "is unknown: the time of the call's own Python and NumPy code is not known precisely enough",
            ),
        ],
    )
    def test_numpy_inside_an_eager_call_takes_as_long_beside_a_gpu(self, python_s: float, said: str) -> None:
        state = begun([EAGER, GRAPH], gpu=False)
        unavailable(state, GRAPH)  # NumPy cannot be traced
        with_work(state, Work(flop=1e6, inputs=1e4, outputs=1e4), EAGER)
        measure(state, {EAGER: 1.5e-3})
        state.apply(e.Caveat(run="r", code=NUMPY_INSIDE, message="NumPy", arm=EAGER.id))
        parts = (
            Part(phase="python", seconds=python_s, source="timed apart", ci95_s=(python_s, python_s + 1e-4)),
            Part(phase="compute", seconds=1.5e-3 - python_s, source="profiled"),
        )
        state.apply(
            e.Accounted(run="r", arm=EAGER.id, point=0, account=Account(total_s=1.5e-3, parts=parts, calls=9))
        )
        assert re.search(said, answer(finish(state))), answer(state)

    def test_launches_limit_a_plain_graph_but_not_every_program(self) -> None:
        state = without_gpu(1e-3, Work(flop=1e6, inputs=1e4, outputs=1e4, kernels=10_000))
        bound = next(b for b in bounds(state, 0, SHEETS["a100"]) if b.input == "resident")
        assert bound.verdict == "cannot win" and bound.limited_by == "launches"
        assert "10,000 launches" in parts_words(bound)
        text = summarise(state, against="a100").answer
        assert "cannot win as a plain graph, without XLA or CUDA graphs" in text

    def test_kernels_run_one_after_another_unless_xla_fuses_them(self) -> None:
        each = (Kernels("float32", 1e9, 11e6, 100.0),)
        work = Work(flop=1e11, inputs=1, outputs=1, kernels=100, each=each)
        graph, xla = (GpuCall(work, CPU_ROOFS, mode, kernels=100).on(GPU_SHEET) for mode in ("graph", "xla"))
        assert graph.kernels_s == pytest.approx(100 * max(1e9 / 1e12, 10e6 / 100e9))
        assert graph.memory_s == pytest.approx(100 * 10e6 / 100e9), "the cache holds 1 of 11 MB"
        assert xla.seconds == pytest.approx(1e11 / 1e12) and xla.memory_s == 0

    def test_a_loop_runs_its_trips_one_after_another_under_xla_too(self) -> None:
        work = Work(flop=1, inputs=1, outputs=1, kernels=1e6, serial=1e6)
        found = GpuCall(work, None, "xla").on(SHEETS["h100"])
        assert found.seconds == pytest.approx(1e6 * SHEETS["h100"].launch.value)

    def test_an_op_without_a_gpu_kernel_keeps_its_measured_time(self) -> None:
        stay = Stay(
            op="MatMul", runs=1, reason="no kernel for int32", to_host=1e6, to_device=1e6, seconds=4e-3
        )
        rest = Work(flop=1e6, inputs=1e4, outputs=1e4, kernels=3)
        work = Work(flop=1e9, inputs=1e4, outputs=1e4, kernels=4, stays=(stay,), gpu=rest)
        found = GpuCall(work, CPU_ROOFS, "graph", kernels=3).on(GPU_SHEET)
        assert found.seconds == pytest.approx(4e-3 + 2e6 / 10e9)
        assert found.limited_by == "the ops that stay on the CPU"
        text = answer(without_gpu(10e-3, work))
        assert (
            "limited by the ops that stay on the CPU" in text and "MatMul stays on the CPU (4.00 ms)" in text
        )

    def test_a_call_without_any_kernel_cannot_win(self) -> None:
        stay = Stay(op="StringSplitV2", runs=1, reason="no GPU kernel", seconds=9e-3)
        work = Work(flop=1e3, inputs=8.0, outputs=8.0, stays=(stay,), gpu=Work(kernels=0))
        state = without_gpu(10e-3, work)
        wanted = "A GPU cannot win: the ops of a call (StringSplitV2) run on the CPU, without a GPU kernel."
        assert wanted in answer(state) and bound_words(state) == "a GPU cannot win"

    def test_an_op_on_the_cpu_too_short_for_the_profiler_has_no_exact_time(self) -> None:
        stay = Stay(op="Where", runs=1, reason="no GPU kernel", seconds=0.0)
        work = Work(
            flop=1e9, inputs=1e4, outputs=1e4, kernels=4, stays=(stay,), gpu=Work(flop=1e9, kernels=3)
        )
        assert "Where stays on the CPU (a few µs)" in answer(without_gpu(10e-3, work))

    @pytest.mark.parametrize(
        ("work", "why"),
        [
            (Work(flop=1e6, inputs=1, outputs=1, uncounted=("Dilation2D",)), "the work of Dilation2D"),
            (Work(), "the amount of work per call is unknown"),
            (
                Work(flop=1.0, stays=(Stay(op="Qr", runs=1, reason="none"),), gpu=Work(flop=1.0, kernels=1)),
                "Qr stays on the CPU, and its time was not measured",
            ),
        ],
    )
    def test_unknowns_are_reported_with_the_reason(self, work: Work, why: str) -> None:
        state = without_gpu(10e-3, work)
        found = bounds(state, 0, SHEETS["h100"])
        assert {(b.at_most, b.verdict) for b in found} == {(None, "not known")}
        assert f"The best case on an H100 is unknown: {why}" in answer(state)

    def test_a_short_bound_is_unknown_until_the_host_is_measured(self) -> None:
        state = measure(begun([GRAPH], gpu=False), {GRAPH: 1e-3})
        state.apply(e.WorkKnown(run="r", arm=GRAPH.id, point=0, work=Work(flop=1e3, inputs=1, outputs=1)))
        assert {b.verdict for b in bounds(state, 0, SHEETS["h100"])} == {"not known"}
        assert "overhead has not been measured here yet" in summarise(state, against="h100").answer

    def test_an_uninformative_ceiling_is_stored_but_not_printed(self) -> None:
        state = without_gpu(1e4, Work(flop=1e3, inputs=1, outputs=1))
        assert all(b.at_most is not None and b.at_most > 1e6 for b in bounds(state, 0, SHEETS["h100"]))
        assert "far faster (likely over 100×)." in answer(state)

    def test_each_measured_dtype_and_variant_has_its_bound(self) -> None:
        half = msgspec.structs.replace(GRAPH, dtype="float16")
        trained = msgspec.structs.replace(GRAPH, variant="training")
        state = measure(begun([GRAPH, half, trained], gpu=False), {GRAPH: 20e-3, half: 15e-3, trained: 40e-3})
        with_work(state, Work(flop=1e9, inputs=1e4, outputs=1e4), GRAPH, trained)
        with_work(state, Work(flop=1e9, inputs=1e4, outputs=1e4, dtype="float16"), half)
        found = bounds(state, 0, SHEETS["h100"])
        assert {(b.dtype, b.variant) for b in found} == {
            ("float32", ""),
            ("float16", ""),
            ("float32", "training"),
        }
        sheet = SHEETS["h100"]
        by = {b.dtype: b.arithmetic_s for b in found if not b.variant}
        assert by["float16"] / by["float32"] == pytest.approx(
            sheet.peak("float32").value / sheet.peak("float16").value
        )

    @given(st.sampled_from(sorted(SHEETS)), st.floats(0, 1e15), st.floats(0, 1e12))
    def test_more_work_never_takes_less(self, name: str, flop: float, moved: float) -> None:
        def least(share: float) -> float:
            work = Work(flop=share * flop, inputs=share * moved, outputs=share * moved)
            return GpuCall(work, CPU_ROOFS, "graph", copied=True).on(SHEETS[name]).seconds

        assert least(0.5) <= least(1.0) and math.isfinite(least(1.0))


class TestAnswer:
    def test_the_bound_says_by_how_much_a_gpu_could_win_at_most(self) -> None:
        text = answer(without_gpu(560e-6, Work(flop=1e6, inputs=1e4, outputs=1e4)))
        limit = r"and at most 5\.\d+× \(limited by TensorFlow's dispatch overhead"
        assert re.search(rf"An H100 would likely be 0\.\d+ to \d\.\d× as fast, {limit}", text)
        assert "Measured here:" in text

    def test_a_likely_range_is_printed_with_the_ceiling(self) -> None:
        state = without_gpu(0.1, Work(flop=1e10, inputs=1e4, outputs=1e4))
        text = summarise(state, against="t4").answer
        assert re.search(r"would likely be [\d.]+ to \d+× faster, and at most \d+(\.\d)?× \(limited by", text)

    def test_a_gpu_cannot_win_if_the_host_does_the_work(self) -> None:
        work = Work(inputs=1.0, to_host=1.0, host_only=True)
        found = bounds(without_gpu(20e-3, work), 0, SHEETS["h100"])
        assert {(bound.verdict, bound.limited_by) for bound in found} == {
            ("cannot win", "the host's own work")
        }
        assert all(bound.expected and bound.expected[1] <= 1 for bound in found)

    @pytest.mark.parametrize("op", ["Svd", "StringSplitV2"])
    def test_no_range_is_printed_for_an_op_whose_time_is_unpredictable(self, op: str) -> None:
        def ran(name: str) -> str:
            state = without_gpu(1e-3, Work(flop=1e6, inputs=1e4, outputs=1e4))
            return answer(placed(state, GRAPH, e.Node(name="x", op=name, device="CPU:0", dtype="float32")))

        assert "likely" in ran("MatMul") and "would" not in ran(op)

    def test_an_iterative_decomposition_has_no_likely_speedup_however_high_its_limit(self) -> None:
        state = without_gpu(12e-3, Work(flop=1e6, inputs=1e4, outputs=1e4))
        text = answer(placed(state, GRAPH, e.Node(name="x", op="Svd", device="CPU:0", dtype="float32")))
        assert (
            "could be far faster (its upper limit is above 100×); a GPU computes Svd in many small steps, so"
            " the likely time is unknown." in text
        ), text

    def test_the_dispatch_time_of_the_cpu_arm_narrows_the_range(self) -> None:
        work = Work(flop=1e6, inputs=1e4, outputs=1e4)
        brief, lengthy = (GpuCall(work, CPU_ROOFS, "graph", dispatch_s=s).on(GPU_SHEET) for s in (0.0, 10e-3))
        assert brief.seconds == lengthy.seconds and brief.expected_s and lengthy.expected_s
        assert lengthy.expected_s[0] > brief.expected_s[1]

    def test_uncounted_work_gives_a_reason_if_a_bound_was_asked_for(self) -> None:
        state = measure(begun([GRAPH], gpu=False, no_gpu="none here"), {GRAPH: 1e-3})
        assert "is unknown: the work of a call was not counted" in bound_sentence(state, "h100")

    def test_starting_a_call_on_a_busy_machine_makes_the_bound_a_range(self) -> None:
        state = without_gpu(90e-6, Work(flop=1e6, inputs=1e4, outputs=1e4))
        assert {bound.verdict for bound in bounds(state, 0, SHEETS["h100"])} == {"cannot win"}
        state.apply(e.RoofsKnown(run="r", roofs=msgspec.structs.replace(roofs(state), others=0.5)))
        found = bounds(state, 0, SHEETS["h100"])
        assert {bound.verdict for bound in found} == {"could win"}
        assert all(b.busy and b.busy[0] == pytest.approx(0.9, rel=0.2) and b.busy[1] > 1 for b in found)
        text = answer(state)
        assert text.count("This host was too busy to measure TensorFlow's dispatch overhead") == 1
        assert re.search(
            r"An H100 (could be at most [\d.]+× faster|may be faster or slower \(no upper limit below)", text
        )
        assert "far faster" not in answer(state) + bound_words(state)

    @pytest.mark.parametrize("cpu_s", [85e-6, 95e-6, 105e-6, 115e-6])
    def test_a_gpu_could_win_exactly_if_its_limit_is_above_one(self, cpu_s: float) -> None:
        """The speedup limit includes an allowance for noise in the CPU arm's time, and so does the verdict."""
        found = bounds(
            without_gpu(cpu_s, Work(flop=1e6, inputs=1e4, outputs=1e4), spread=0.3), 0, SHEETS["h100"]
        )
        assert all(b.at_most and (b.verdict == "could win") == (b.at_most > 1) for b in found)
        assert all(b.measured_s and b.at_most and b.at_most > b.measured_s / b.seconds for b in found)

    def test_a_large_ceiling_is_not_printed_on_a_busy_machine_either(self) -> None:
        state = without_gpu(50e-3, Work(flop=1e6, inputs=1e4, outputs=1e4))
        state.apply(e.RoofsKnown(run="r", roofs=msgspec.structs.replace(roofs(state), others=0.5)))
        assert all(b.busy and b.busy[0] > 100 for b in bounds(state, 0, SHEETS["h100"]))
        assert "could be far faster (its upper limit is above 100×)" in answer(state)

    def test_a_busy_machine_still_judges_a_call_whose_start_is_negligible(self) -> None:
        state = without_gpu(100.0, Work(flop=1e13, inputs=1e4, outputs=1e4))
        idle = answer(state)
        state.apply(e.RoofsKnown(run="r", roofs=msgspec.structs.replace(roofs(state), others=0.5)))
        assert "would be far faster" in idle and answer(state) == idle

    def test_the_likely_range_is_printed_if_the_limit_is_not(self) -> None:
        text = answer(without_gpu(10e-3, Work(flop=1e9, inputs=1e4, outputs=1e4)))
        words = r"would likely be [\d.]+ to [\d.]+× faster \(its upper limit is above 100×\)"
        assert re.search(words, text), text

    def test_free_copies_add_no_second_figure(self) -> None:
        text = answer(without_gpu(100.0, Work(flop=1e13, inputs=4, outputs=4)))
        assert text.count("far faster") == 1 and "copied" not in text

    def test_a_gpu_whose_bound_is_slower_cannot_win(self) -> None:
        text = answer(without_gpu(90e-6, Work(flop=1e6, inputs=1e4, outputs=1e4)))
        assert (
            "A GPU cannot win: none of the 11 NVIDIA cards that tuilab knows takes less than 100 µs" in text
        )

    def test_no_bound_is_printed_for_a_machine_with_a_gpu(self) -> None:
        state = with_work(
            measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 1e-3}), Work(flop=1e6), GRAPH
        )
        assert "H100" not in answer(state)

    def test_a_gpu_that_was_asked_for(self) -> None:
        result = summarise(without_gpu(560e-6, Work(flop=1e6, inputs=1e4, outputs=1e4)), against="t4")
        assert {bound.gpu for bound in result.bounds} == {"t4"} and "A T4 would likely be" in result.answer

    def test_a_bound_is_not_a_sample(self) -> None:
        state = without_gpu(560e-6, Work(flop=1e6, inputs=1e4, outputs=1e4))
        result = summarise(state)
        assert result.bounds and not result.ratios and [a.id for a in result.arms if a.median_s] == [GRAPH.id]

    def test_a_call_that_does_not_fit_cannot_win(self) -> None:
        found = bounds(without_gpu(5.0, Work(flop=1e6, inputs=1e11, outputs=1e11)), 0, SHEETS["h100"])
        assert found and all(not bound.fits and bound.verdict == "cannot win" for bound in found)


class TestSweep:
    def test_the_smallest_size_at_which_a_gpu_could_overtake_is_named(self) -> None:
        sizes = (256, 1_024, 4_096, 16_384)
        state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=sizes)
        measure(unavailable(state, GPU_GRAPH), {GRAPH: lambda n: 40e-6 * n / 1_024})
        with_work(state, Work(flop=1e4, inputs=1e3, outputs=1e3), GRAPH, GPU_GRAPH)
        found = sweep_bound(state, SHEETS["h100"])
        assert found is not None and found.overtakes_from == 4_096
        assert (
            found.sentence
            == "An H100 could overtake at 4,096 samples at the earliest, according to its data sheet "
            "and the dispatch overhead on this host."
        )
        assert [point.value for point in found.points] == list(sizes)
        assert found.sentence not in answer(state), "during the run, sizes are missing"
        assert found.sentence in answer(finish(state))

    def test_a_sweep_has_the_forecast_for_its_largest_size_too(self) -> None:
        state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=(256, 4_096, 65_536))
        measure(unavailable(state, GPU_GRAPH), {GRAPH: lambda n: 40e-6 * n / 1_024})
        with_work(state, Work(flop=1e4, inputs=1e3, outputs=1e3), GRAPH, GPU_GRAPH)
        said = bound_sentence(finish(state))
        assert said.startswith("At 256 samples: ") and "cannot win" in said, said
        assert re.search(r" At 65,536 samples an H100 would likely be .* faster", said), said

    @pytest.mark.parametrize(("call_s", "said"), [(40e-6, "from its data sheet"), (40e-3, "below the plot")])
    def test_a_bound_below_the_plotted_range_says_so(self, call_s: float, said: str) -> None:
        state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=(256, 1_024))
        measure(unavailable(state, GPU_GRAPH), {GRAPH: lambda n: call_s * n / 1_024})
        with_work(state, Work(flop=1e4, inputs=1e3, outputs=1e3), GRAPH, GPU_GRAPH)
        assert [series.note for series in at_best(summarise(finish(state)))] == [said]

    def test_one_size_measured_on_a_busy_machine_suppresses_the_sentence(self) -> None:
        state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=(256, 1_024))
        measure(unavailable(state, GPU_GRAPH), {GRAPH: lambda n: 4e-2 * n})
        for index, flop in enumerate((1e8, 1e13)):
            # at this size, the launch cost is negligible
            for arm in (GRAPH, GPU_GRAPH):
                work = Work(flop=flop, inputs=1e5, outputs=1e5)
                state.apply(e.WorkKnown(run="r", arm=arm.id, point=index, work=work))
        state.apply(e.RoofsKnown(run="r", roofs=msgspec.structs.replace(roofs(state), others=0.5)))
        assert sweep_bound(finish(state), SHEETS["h100"]) is None

    def test_a_host_that_was_never_idle_names_no_size(self) -> None:
        state = begun([GRAPH, GPU_GRAPH], gpu=False, sizes=(256, 1_024))
        measure(unavailable(state, GPU_GRAPH), {GRAPH: lambda n: 4e-6 * n})
        with_work(state, Work(flop=1e8, inputs=1e5, outputs=1e5), GRAPH, GPU_GRAPH)
        assert sweep_bound(state, SHEETS["h100"]) is not None
        state.apply(e.RoofsKnown(run="r", roofs=msgspec.structs.replace(roofs(state), others=0.5)))
        assert sweep_bound(state, SHEETS["h100"]) is None


# Programs whose minimum time on a GPU is known. Their kernels run in sequence, each limited by the peak of
# its dtype or by the memory bandwidth, without gaps.
Kernel = tuple[str, float, float]
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
    cached, launch = sheet.cache.value if sheet.cache else math.inf, sheet.launch.value
    done, launches = 0.0, 1 if mode == "xla" else len(kernels)
    for dtype, flop, moved in kernels:
        top = sheet.peak(dtype)
        arithmetic = flop / top.value if top is not None else 0.0
        done += max(launch, arithmetic, max(0.0, moved - cached) / sheet.bandwidth.value)
    host = CPU_ROOFS.copied_s if copied else CPU_ROOFS.launch_s
    begun = max(host[mode] * (len(kernels) if mode == "eager" else 1), launches * launch)
    if not copied:
        return max(begun, done)
    # The device computes while the host launches more kernels. Results are copied last.
    way_in, way_out = kernels[0][2] / 2 / sheet.link.value, kernels[-1][2] / 2 / sheet.link.value
    return max(begun, way_in + done) + way_out


def test_there_are_sixty_programs() -> None:
    assert len(PROGRAMS) >= 60


def call_of(name: str) -> GpuCall:
    kernels, mode, copied = PROGRAMS[name]
    by_dtype: dict[str, float] = {}
    for dtype, flop, _ in kernels:
        by_dtype[dtype] = by_dtype.get(dtype, 0.0) + flop
    work = Work(
        flop=sum(by_dtype.values()),
        by_dtype=by_dtype,
        # A cache may hold the data between kernels, so only the inputs and outputs are certain to move.
        inputs=kernels[0][2] / 2,
        outputs=kernels[-1][2] / 2,
        kernels=len(kernels),
        each=tuple(Kernels(dtype, flop, moved, 1.0) for dtype, flop, moved in kernels),
    )
    return GpuCall(
        work, CPU_ROOFS, mode, copied, ops=len(kernels), kernels=1 if mode == "xla" else len(kernels)
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_program_beats_its_bound(name: str) -> None:
    kernels, mode, copied = PROGRAMS[name]
    call = call_of(name)
    for sheet in SHEETS.values():
        bound, best = call.on(sheet).seconds, best_possible(kernels, mode, copied, sheet)
        assert bound <= best * (1 + 1e-9)
        assert len(kernels) > 1 or bound == pytest.approx(best, rel=0.05), "no program comes near the bound"


KINDS = {
    "one product of two matrices": r"product-(?!copied)",
    "one product, with its inputs copied in each call": "product-copied",
    "element-wise ops as a graph": r"chain-\d",
    "element-wise ops as one XLA program": "chain-xla",
    "small ops one by one, in eager mode": "eager",
    "a table lookup": "lookup",
    "a Fourier transform": "transform",
    "a product, then element-wise ops in another dtype": "mixed",
}
"""Patterns for the names of programs, by kind of work as listed in docs/measuring.md."""


def test_the_table_of_bounds_in_the_papers_is_current() -> None:
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
    text = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text()
    assert [row for row in rows if row not in text] == [], "\n".join(rows)
