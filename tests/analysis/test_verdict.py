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
from tuilab.analysis.verdicts import _speed, judge
from tuilab.model import events as e
from tuilab.model.arms import Arm, ArmPattern
from tuilab.model.claims import (
    Claim,
    Condition,
    Crosses,
    FactIs,
    Faster,
    KernelFor,
    PhaseShare,
    PlacedOn,
    Raises,
    SamePlacement,
    ShareGrows,
    WaitsForInput,
)
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis

ON_CPU, ON_GPU = ArmPattern(device="CPU"), ArmPattern(device="GPU")


def verdict(
    when: Condition, state: RunState, registry: dict[str, frozenset[str]] | None = None
) -> tuple[str, str]:
    found = judge(Claim(text="a claim", when=when), state, registry)
    assert found.text == "a claim"
    return found.verdict, found.evidence


def two(cpu: float, gpu: float, **more: float) -> RunState:
    return finish(measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: cpu, GPU_GRAPH: gpu}, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cpu", "gpu", "by", "word"),
    [
        (1e-3, 2e-3, 1.0, "confirmed"),
        (2e-3, 1e-3, 1.0, "refuted"),
        (1e-3, 1e-3, 1.0, "undecided"),
        (1e-3, 2e-3, 1.5, "confirmed"),
        (1e-3, 2e-3, 2.0, "undecided"),
        (1e-3, 2e-3, 3.0, "refuted"),
    ],
)
def test_a_faster_claim_is_judged_by_the_ratio(cpu: float, gpu: float, by: float, word: str) -> None:
    found, evidence = verdict(Faster(a=ON_CPU, b=ON_GPU, by=by), two(cpu, gpu))
    assert found == word
    assert evidence.startswith("CPU graph took ") and "GPU graph" in evidence
    assert ("is ours" in evidence) == (by != 1)


@pytest.mark.parametrize(
    ("by", "most", "word"),
    [(1.6, 2.5, "confirmed"), (1.5, 2.0, "undecided"), (1.2, 1.7, "refuted"), (2.4, 3.75, "refuted")],
)
def test_a_claim_of_about_a_factor_fails_above_it_too(by: float, most: float, word: str) -> None:
    when = Faster(a=ON_CPU, b=ON_GPU, by=by, most=most)
    found = judge(Claim(text="a claim", when=when, said="about twice"), two(1e-3, 2e-3))
    assert found.verdict == word
    assert found.evidence.endswith(f"; we take “about twice” as {by:g}× to {most:g}×.")


@pytest.mark.parametrize(
    ("by", "caveat", "word"),
    [
        (1.0, "", "confirmed"),
        (1.45, "", "undecided"),
        (1.7, "", "refuted"),
        (1.3, "canary", "undecided"),
        (1.7, "canary", "undecided"),
        (2.0, "canary", "refuted"),
        (1.01, "cpu-contention", "undecided"),
        (2.0, "cpu-contention", "undecided"),
    ],
)
def test_one_process_decides_only_what_another_would_confirm(by: float, caveat: str, word: str) -> None:
    """In another process or minute, a ratio may differ by more than its interval says."""
    state = two(1e-3, 1.5e-3)
    if caveat:
        state.apply(e.Caveat(run="r", code=caveat, message="the host was not quiet"))
    found, evidence = verdict(Faster(a=ON_CPU, b=ON_GPU, by=by), state)
    assert found == word
    factor = {"canary": 1.25, "cpu-contention": 1.5}.get(caveat, 1.1)
    told = f"; too close to decide from one process, as others may differ by {factor:g}×" in evidence
    assert told == (word == "undecided")


def test_a_threshold_says_where_it_comes_from() -> None:
    state, when = two(1e-3, 2e-3), Faster(a=ON_CPU, b=ON_GPU, by=1.5)
    read = judge(Claim(text="a claim", when=when, said="significant"), state).evidence
    assert read.endswith("; we take “significant” as at least 1.5×.")
    assert judge(Claim(text="a claim", when=when, quoted="a sentence"), state).evidence.endswith(
        "; the document says at least 1.5×."
    )


def test_a_claim_of_possibility_is_not_refuted_by_one_machine() -> None:
    when = KernelFor(op="MatMul", dtype="float64", exists=False)
    claim = Claim(text="a claim", when=when, hedged="might")
    found = judge(claim, two(1, 1), {"MatMul": frozenset({"float64:GPU"})})
    assert found.verdict == "undecided" and "says “might”" in found.evidence
    assert judge(claim, two(1, 1), {"MatMul": frozenset({"int32:CPU"})}).verdict == "confirmed"


def test_a_claim_about_a_gpu_is_untestable_without_one() -> None:
    state = fact(begun([GRAPH], gpu=False), "map-device", "CPU", "the images came from the CPU")
    claim = Claim(text="a claim", when=FactIs(fact="map-device", value="GPU"), gpu=True)
    assert judge(claim, state).verdict == "untestable"
    assert judge(claim, fact(begun([GRAPH]), "map-device", "CPU", "from the CPU")).verdict == "refuted"


def test_faster_says_so_when_the_difference_may_be_noise() -> None:
    _, evidence = verdict(Faster(a=ON_CPU, b=ON_GPU), two(1e-3, 1e-3))
    assert evidence.endswith(": 1.00× as fast [0.99 1.01].")
    _, evidence = verdict(Faster(a=ON_CPU, b=ON_GPU), two(1e-3, 1.02e-3, rounds=3))
    assert evidence.endswith(": 1.02× faster [1.00 1.05], which may be noise.")
    _, evidence = verdict(Faster(a=ON_CPU, b=ON_GPU), two(1e-3, 1.03e-3, rounds=3))
    assert "; the quotient of the medians is 1.00×, because the medians are rounded; too" in evidence
    assert verdict(Faster(a=ON_CPU, b=ON_GPU), two(1e-3, 2e-3, rounds=1)) == (
        "undecided",
        "Too few rounds to compare CPU graph with GPU graph.",
    )


def test_an_uninformative_interval_is_not_printed() -> None:
    found = verdict(Faster(a=ON_CPU, b=ON_GPU), two(1e-3, 2e-3, rounds=2, spread=2.0))
    assert found == ("undecided", "Too few rounds to compare CPU graph with GPU graph.")


def test_an_interval_end_near_the_threshold_is_printed_differently_from_it() -> None:
    assert _speed(RatioEstimate(1.29, 1.12, 1.496, 20), 1.2) == "1.3× faster [1.1 1.5]"
    assert _speed(RatioEstimate(1.29, 1.12, 1.496, 20), 1.5) == "1.3× faster [1.12 1.50]"
    assert _speed(RatioEstimate(1.29, 1.12, 1.47, 20), 1.5) == "1.3× faster [1.12 1.47]"


def test_faster_compares_the_fastest_arms_and_no_arm_is_on_both_sides() -> None:
    state = measure(begun([EAGER, GRAPH, XLA]), {EAGER: 4e-3, GRAPH: 2e-3, XLA: 1e-3})
    assert verdict(Faster(a=ArmPattern(mode="xla"), b=ArmPattern()), state)[0] == "confirmed"
    assert verdict(Faster(a=ArmPattern(), b=ArmPattern(mode="xla")), state)[0] == "refuted"
    assert verdict(Faster(a=ArmPattern(mode="eager"), b=ArmPattern(mode="graph")), state)[0] == "refuted"


def test_comparisons_with_a_gpu_are_untestable_without_one() -> None:
    state = begun([GRAPH, GPU_GRAPH], gpu=False, no_gpu="driver missing")
    finish(measure(unavailable(state, GPU_GRAPH), {GRAPH: 1e-3}))
    expected = ("untestable", "No GPU is visible (driver missing).")
    conditions: list[Condition] = [
        Faster(a=ON_CPU, b=ON_GPU),
        Faster(a=ON_GPU, b=ON_CPU),
        PlacedOn(op="MatMul", device="GPU"),
        PlacedOn(op="MatMul", device="CPU", arms=ON_GPU),
        PhaseShare(phases=("copy_in",), share=0.5, arms=ON_GPU),
        WaitsForInput(share=0.2, arms=ON_GPU),
        Raises(error="InternalError", arms=ON_GPU),
        FactIs(fact="x", value=1, arms=ON_GPU),
    ]
    for when in conditions:
        assert verdict(when, state) == expected, when


def test_gpu_only_variants_are_untestable_without_one() -> None:
    split = Arm("GPU:0", "graph", variant="split")
    state = unavailable(begun([Arm("CPU:0", "graph", variant="cpu"), split], gpu=False), split)
    when = Faster(a=ArmPattern(variant="cpu"), b=ArmPattern(variant="split"))
    assert verdict(when, finish(state)) == ("untestable", "No GPU is visible.")


def test_a_missing_failed_or_unreached_side_gives_no_verdict() -> None:
    when = Faster(a=ON_CPU, b=ON_GPU)
    alone = measure(begun([GRAPH]), {GRAPH: 1e-3})
    assert verdict(when, alone) == ("untestable", "The run has no GPU arm; set the device to both.")
    broken = failed(measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3}), GPU_GRAPH, "out of memory.")
    assert verdict(when, broken) == ("untestable", "GPU graph failed: out of memory.")
    waiting = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3})
    assert verdict(when, waiting) == ("undecided", "GPU graph was not measured.")


def test_a_gpu_arm_that_ran_on_the_cpu_says_nothing_about_the_gpu() -> None:
    state = two(1e-3, 2e-3)
    state.apply(e.ArmStatus(run="r", arm=GPU_GRAPH.id, status="ok", device="CPU:0"))
    assert verdict(Faster(a=ON_CPU, b=ON_GPU), state) == (
        "untestable",
        "GPU graph computed on CPU:0, not on GPU.",
    )


def matmul(device: str, count: int = 1) -> e.Node:
    return e.Node("m", "MatMul", device, count=count)


def test_a_placement_claim_is_judged_by_observed_devices() -> None:
    when = PlacedOn(op="MatMul", device="GPU")
    state = placed(two(1, 1), GPU_GRAPH, matmul("/job:localhost/replica:0/task:0/device:GPU:0", 3))
    assert verdict(when, state) == ("confirmed", "Of 3 MatMul ops observed, 3 on GPU:0.")
    placed(state, GPU_GRAPH, matmul("CPU:0"))
    assert verdict(when, state) == ("refuted", "Of 4 MatMul ops observed, 1 on CPU:0 and 3 on GPU:0.")
    other = placed(
        two(1, 1), GRAPH, e.Node("a", "AddV2", "CPU:0"), e.Node("c", "MatMul", "GPU:0", kind="copy")
    )
    assert verdict(when, other) == ("untestable", "No MatMul ran, only ops such as AddV2.")
    assert verdict(when, two(1, 1)) == ("undecided", "The placement was not observed.")


def test_placed_on_sees_fused_ops() -> None:
    when = PlacedOn(op="MatMul", device="GPU")
    fused = e.Node("m/Relu", "_FusedMatMul", "GPU:0", count=2)
    state = placed(two(1, 1), GPU_GRAPH, fused)
    assert verdict(when, state) == (
        "confirmed",
        "Of 2 MatMul ops observed (fused, as _FusedMatMul), 2 on GPU:0.",
    )
    placed(state, GPU_GRAPH, matmul("CPU:0"), e.Node("c", "_FusedConv2D", "CPU:0"))
    assert verdict(when, state) == (
        "refuted",
        "Of 3 MatMul ops observed (2 fused, as _FusedMatMul), 1 on CPU:0 and 2 on GPU:0.",
    )
    named = PlacedOn(op="_FusedMatMul", device="GPU")
    assert verdict(named, state)[1] == "Of 2 _FusedMatMul ops observed, 2 on GPU:0."


def test_a_host_op_is_testable_without_a_gpu() -> None:
    state = placed(measure(begun([GRAPH], gpu=False), {GRAPH: 1}), GRAPH, matmul("CPU:0"))
    assert verdict(PlacedOn(op="MatMul", device="CPU"), state)[0] == "confirmed"


def test_kernels_from_facts_or_the_registry() -> None:
    when = KernelFor(op="MatMul", dtype="float64")
    state = fact(begun([GRAPH], gpu=False), "kernel:MatMul:float64:GPU", True)
    assert verdict(when, state) == ("confirmed", "TensorFlow 2.21.0 has a GPU kernel of MatMul for float64.")
    lacks = KernelFor(op="MatMul", dtype="int32", exists=False)
    registry = {"MatMul": frozenset({"float64:GPU", "int32:CPU"})}
    assert verdict(lacks, begun([GRAPH]), registry) == (
        "confirmed",
        "TensorFlow 2.21.0 has no GPU kernel of MatMul for int32.",
    )
    assert verdict(KernelFor(op="MatMul", dtype="int32"), begun([GRAPH]), registry)[0] == "refuted"
    assert verdict(when, begun([GRAPH]))[0] == "undecided"


OOM = ("tensorflow.ResourceExhaustedError", "tensorflow.OpError", "builtins.Exception")


def test_a_raises_claim_is_judged_by_the_error() -> None:
    state = failed(begun([GRAPH]), GRAPH, "out of memory", OOM)
    assert verdict(Raises(error="ResourceExhaustedError"), state) == (
        "confirmed",
        "CPU graph raised ResourceExhaustedError: out of memory.",
    )
    assert verdict(Raises(error="OpError"), state)[1] == (
        "CPU graph raised ResourceExhaustedError, a kind of OpError: out of memory."
    )
    assert verdict(Raises(error="RuntimeError"), state) == (
        "refuted",
        "CPU graph raised ResourceExhaustedError, a kind of OpError and Exception, not RuntimeError.",
    )
    fine = measure(begun([GRAPH]), {GRAPH: 1e-3})
    assert verdict(Raises(error="OpError"), fine) == ("refuted", "CPU graph ran without an error.")
    assert verdict(Raises(error="OpError"), begun([GRAPH]))[0] == "undecided"


def test_raising_at_one_size_of_a_sweep_counts() -> None:
    state = measure(begun([GRAPH], sizes=SIZES[:2]), {GRAPH: 1e-3})
    failed(state, GRAPH, "out of memory", OOM, point=1)
    assert verdict(Raises(error="ResourceExhaustedError"), state)[0] == "confirmed"


@pytest.mark.parametrize(
    ("wait", "rest", "residual", "word"),
    [(3.0, 7.0, 0.0, "confirmed"), (1.0, 9.0, 0.0, "refuted"), (1.9, 7.1, 1.0, "undecided")],
)
def test_an_input_claim_is_judged_by_the_share(wait: float, rest: float, residual: float, word: str) -> None:
    state = measure(begun([GRAPH]), {GRAPH: 10.0})
    phases(state, GRAPH, residual, input_wait=wait, compute=rest)
    found, evidence = verdict(WaitsForInput(share=0.2), state)
    assert found == word
    assert evidence.startswith("Waiting for input takes ") and evidence.endswith("at least 20%, is ours.")


def test_a_share_must_hold_in_every_arm() -> None:
    state = two(10, 10)
    phases(state, GRAPH, copy_in=0.0, compute=10.0)
    phases(state, GPU_GRAPH, copy_in=4.0, copy_out=3.0, compute=3.0)
    when = PhaseShare(phases=("copy_in", "copy_out"), share=0.5)
    assert verdict(when, state) == (
        "refuted",
        "Copying in and copying out take 0% of a call of CPU graph; the threshold, at least 50%, is ours.",
    )
    assert verdict(PhaseShare(phases=when.phases, share=0.5, arms=ON_GPU), state)[0] == "confirmed"
    assert verdict(when, two(1, 1)) == ("undecided", "The phases of any arm were not measured.")


@pytest.mark.parametrize(("residual", "told"), [(10.0, "undecided: 100"), (4.0, "refuted: 40")])
def test_a_share_that_was_not_measured_is_not_zero(residual: float, told: str) -> None:
    state = two(10.0, 10.0)
    phases(state, GRAPH, residual, **({"compute": 10.0 - residual} if residual < 10 else {}))
    when = PhaseShare(phases=("copy_in", "copy_out"), share=0.5)
    word, most = told.split(": ")
    assert verdict(when, state) == (
        word,
        f"Copying in and copying out take up to {most}% of a call of CPU graph; "
        "the threshold, at least 50%, is ours.",
    )


@pytest.mark.parametrize(
    ("last", "residual", "word"),
    [(6.0, 0.0, "confirmed"), (1.0, 0.0, "refuted"), (3.0, 0.0, "undecided"), (1.0, 4.0, "undecided")],
)
def test_a_share_that_grows_with_the_size(last: float, residual: float, word: str) -> None:
    state = finish(measure(begun([GPU_GRAPH], sizes=(1_000, 100_000)), {GPU_GRAPH: 10.0}))
    when = ShareGrows(phases=("copy_in", "copy_out"), axis="samples", arms=ON_GPU)
    assert verdict(when, state)[1] == "The phases of GPU were not measured at two sizes."
    phases(state, GPU_GRAPH, copy_in=2.0, copy_out=1.0, compute=7.0)
    phases(state, GPU_GRAPH, residual, point=1, copy_in=last, compute=10.0 - last - residual)
    found, evidence = verdict(when, state)
    assert found == word
    assert evidence.startswith("Copying in and copying out take 30% of a call")
    assert " at 100 k samples in GPU graph." in evidence


def test_a_share_that_grows_needs_a_sweep_and_a_gpu() -> None:
    when = ShareGrows(phases=("copy_in",), axis="samples", arms=ON_GPU)
    assert verdict(when, two(1, 1)) == ("undecided", "The claim needs a sweep over samples.")
    alone = unavailable(
        measure(begun([GRAPH, GPU_GRAPH], gpu=False, sizes=SIZES[:2]), {GRAPH: 1.0}), GPU_GRAPH
    )
    assert verdict(when, finish(alone)) == ("untestable", "No GPU is visible.")


def swept(reach: int = len(SIZES)) -> RunState:
    costs = {GRAPH: lambda x: 1e-4 + 1e-8 * x, GPU_GRAPH: lambda x: 3e-4 + 1e-9 * x}
    return finish(measure(begun([GRAPH, GPU_GRAPH], sizes=SIZES[:reach]), costs))


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (10_000, 40_000, "confirmed"),
        (100, 5_000, "refuted"),
        (22_000, 40_000, "undecided"),
        (50_000, 90_000, "refuted"),
    ],
)
def test_a_crossing_claim_is_judged_by_the_sweep(low: int, high: int, word: str) -> None:
    found, evidence = verdict(Crosses(a=ON_GPU, b=ON_CPU, axis="samples", low=low, high=high), swept())
    assert found == word
    assert evidence.startswith("GPU graph overtakes CPU graph at 2") and "The threshold, " in evidence


def test_crossing_the_other_way_does_not_count() -> None:
    assert verdict(Crosses(a=ON_CPU, b=ON_GPU, axis="samples", low=1, high=90_000), swept())[0] == "refuted"


def test_a_missing_crossing_refutes_only_the_measured_range() -> None:
    short = swept(reach=3)
    assert verdict(Crosses(a=ON_GPU, b=ON_CPU, axis="samples", low=300, high=4_000), short)[0] == "refuted"
    assert verdict(Crosses(a=ON_GPU, b=ON_CPU, axis="samples", low=300, high=9_000), short)[0] == "undecided"
    # The CPU is faster even at the smallest size.
    assert verdict(Crosses(a=ON_CPU, b=ON_GPU, axis="samples", low=300, high=900), short)[0] == "refuted"
    assert verdict(Crosses(a=ON_CPU, b=ON_GPU, axis="samples", low=1, high=900), short)[0] == "undecided"


def test_crosses_needs_its_sweep() -> None:
    when = Crosses(a=ON_GPU, b=ON_CPU, axis="frame_length", low=1, high=2)
    assert verdict(when, swept()) == ("undecided", "The claim needs a sweep over frame length.")
    alone = measure(begun([GRAPH], sizes=SIZES), {GRAPH: 1.0})
    found = verdict(Crosses(a=ON_GPU, b=ON_CPU, axis="samples", low=1, high=2), alone)
    assert found == ("untestable", "The run has no GPU arm; set the device to both.")


def test_crosses_along_two_axes_needs_all_series_to_agree() -> None:
    axes = [Axis("samples", SIZES), Axis("frame_length", (128, 256))]
    state = begun([GRAPH, GPU_GRAPH], axes=axes)
    measure(state, {GRAPH: lambda x: 1e-4 + 1e-8 * x, GPU_GRAPH: lambda x: 3e-4 + 1e-9 * x})
    when = Crosses(a=ON_GPU, b=ON_CPU, axis="samples", low=10_000, high=40_000)
    assert verdict(when, state)[0] == "confirmed"


@pytest.mark.parametrize(
    ("value", "relation", "seen", "word"),
    [
        (1, "is", 1, "confirmed"),
        (1, "is", 2, "refuted"),
        (True, "is", 1, "refuted"),
        (1, "is", True, "refuted"),
        ("CPU", "is", "CPU", "confirmed"),
        (2.5, "at-least", 3, "confirmed"),
        (2.5, "at-least", 2, "refuted"),
        (2, "at-most", 2, "confirmed"),
        (2, "at-most", "two", "refuted"),
    ],
)
def test_a_fact_claim_is_judged_by_the_facts(value, relation, seen, word) -> None:  # type: ignore[no-untyped-def]
    state = fact(begun([GRAPH], gpu=False), "traces", seen, "the function was traced thus")
    found, evidence = verdict(FactIs(fact="traces", value=value, relation=relation), state)
    assert found == word
    assert evidence.startswith("The function was traced thus")
    assert ("the claim requires" in evidence) == (word == "refuted" or relation != "is")


def test_a_fact_must_hold_in_every_arm_of_the_pattern() -> None:
    state = fact(fact(begun([GRAPH, XLA]), "n", 1, arm=GRAPH), "n", 2, arm=XLA)
    assert verdict(FactIs(fact="n", value=1), state) == (
        "refuted",
        "CPU xla: n is 2; the claim requires 1.",
    )
    assert verdict(FactIs(fact="n", value=1, arms=ArmPattern(mode="graph")), state)[0] == "confirmed"
    assert verdict(FactIs(fact="m", value=1), state) == ("undecided", "The run observed no m.")


def test_the_same_placement_along_the_axis() -> None:
    state = swept()
    for point in range(len(SIZES)):
        placed(state, GRAPH, matmul("CPU:0"), *([e.Node("p", "Pad", "CPU:0")] * (point == 0)), point=point)
    when = SamePlacement(axis="samples")
    assert verdict(when, state) == (
        "confirmed",
        "At 5 sizes, 256 to 65,536 samples, every op kept its device: CPU:0.",
    )
    assert verdict(SamePlacement(axis="samples", same=False), state)[0] == "refuted"
    placed(state, GPU_GRAPH, matmul("GPU:0"), point=0)
    placed(state, GPU_GRAPH, matmul("CPU:0"), point=3)
    assert verdict(when, state) == (
        "refuted",
        "MatMul in GPU graph ran on GPU:0 at 256 samples and on CPU:0 at 16384 samples.",
    )
    assert verdict(SamePlacement(axis="samples", same=False), state)[0] == "confirmed"


def test_an_op_fused_at_some_sizes_has_not_moved() -> None:
    state = swept()
    for point, op in ((0, "MatMul"), (1, "_FusedMatMul")):
        placed(state, GRAPH, e.Node("m", op, "CPU:0"), point=point)
    assert verdict(SamePlacement(axis="samples"), state)[0] == "confirmed"
    placed(state, GRAPH, e.Node("m", "_FusedMatMul", "GPU:0"), point=2)
    assert verdict(SamePlacement(axis="samples"), state)[0] == "refuted"


def test_the_same_placement_needs_several_sizes() -> None:
    assert verdict(SamePlacement(axis="samples"), two(1, 1)) == (
        "undecided",
        "The claim needs a sweep over samples.",
    )
    once = placed(swept(), GRAPH, matmul("CPU:0"))
    assert verdict(SamePlacement(axis="samples"), once) == (
        "undecided",
        "The placement was observed at only one size.",
    )


def test_copied_and_resident_arms_are_distinguished() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH, GPU_COPIED]), {GRAPH: 2e-3, GPU_GRAPH: 1e-3, GPU_COPIED: 4e-3})
    copied = ArmPattern(device="GPU", input="copied")
    assert verdict(Faster(a=ON_CPU, b=copied), state)[0] == "confirmed"
    assert verdict(Faster(a=ON_CPU, b=ON_GPU), state)[0] == "refuted"


def test_a_claim_is_judged_on_one_gpu_unless_it_names_another():
    """GPU:0 is faster with resident inputs, GPU:1 with copied inputs. Arms of different GPUs are never
    compared.
    """
    second, second_copied = Arm("GPU:1", "graph"), Arm("GPU:1", "graph", "copied")
    costs = {GPU_GRAPH: 2e-3, GPU_COPIED: 3e-3, second: 9e-3, second_copied: 1e-3}
    state = finish(measure(begun(list(costs)), costs))
    copied, resident = ArmPattern(input="copied"), ArmPattern(input="resident")
    word, evidence = verdict(Faster(a=resident, b=copied), state)
    assert word == "confirmed" and "GPU:1" not in evidence
    named = ArmPattern(device="GPU:1", input="resident"), ArmPattern(device="GPU:1", input="copied")
    word, evidence = verdict(Faster(a=named[0], b=named[1]), state)
    assert word == "refuted" and "GPU:0" not in evidence
