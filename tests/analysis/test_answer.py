import re
from collections.abc import Callable

import msgspec
import pytest

from tests import made
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
from tuilab.analysis.answer import answer
from tuilab.analysis.ranking import brief
from tuilab.analysis.reading import estimate_at
from tuilab.analysis.summary import summarise
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.roofline import Work
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis
from tuilab.presentation.answer import _aside
from tuilab.report.rows import sweep_rows, to_fastest
from tuilab.report.sweep import sweep_chart


def cpu_line(x: int) -> float:
    return 1e-4 + 1e-8 * x


def gpu_line(x: int) -> float:
    return 3e-4 + 1e-9 * x


def test_the_answer_names_the_fastest_arm_and_the_other_device_with_its_copies() -> None:
    state = measure(begun([GRAPH, GPU_COPIED, EAGER]), {GRAPH: 4.8e-4, GPU_COPIED: 6.1e-4, EAGER: 4.5e-3})
    finish(phases(state, GPU_COPIED, copy_in=3e-4, copy_out=1.33e-4, compute=1.77e-4))
    text = answer(state)
    assert re.fullmatch(
        r"CPU graph is fastest: 4[78]\d(\.\d)? µs \[4\d\d(\.\d)? 4\d\d(\.\d)?\]\. "
        r"GPU graph copied 6\d\d(\.\d)? µs \[[\d.]+ [\d.]+\], 1\.2\d× slower \[1[.\d]* 1[.\d]*\]; 71% of it is copying\.",
        text,
    )


@pytest.mark.parametrize("other", [XLA, EAGER])
def test_no_arm_is_called_faster_if_the_rounds_contradict_the_medians(other) -> None:
    # Most of the graph's rounds take 1 ms, but some take 2 ms. Its median is lower than eager's, but its
    # mean is higher.
    state = begun([GRAPH, other])
    for index in range(60):
        blocks = (
            e.Block(GRAPH.id, 0, 1, 2e-3 if index % 5 < 2 else 1e-3, 0),
            e.Block(other.id, 0, 1, 1.05e-3, 0),
        )
        state.apply(e.Round(run="r", index=index, blocks=blocks, elapsed_s=0.1 * (index + 1)))
    for arm in (GRAPH, other):
        state.apply(e.ArmStatus(run="r", arm=arm.id, status="ok", device=arm.device))
    finish(state)
    found = brief(state)
    assert (found.fastest, found.leads) == ("CPU graph", False) and found.high < 1
    text = answer(state)
    assert "cannot be told apart" in text and "faster" not in text and "fastest" not in text


def test_without_a_gpu_the_answer_says_so_and_what_can_still_be_learnt() -> None:
    state = begun([EAGER, GRAPH, GPU_GRAPH], gpu=False, no_gpu="driver missing")
    measure(unavailable(state, GPU_GRAPH), {EAGER: 4.5e-3, GRAPH: 4.8e-4})
    placed(state, EAGER, *(e.Node(f"n{i}", "Mul", "CPU:0", count=20) for i in range(4)))
    placed(state, GRAPH, e.Node("a", "RFFT", "CPU:0"), e.Node("b", "Mul", "CPU:0", count=3))
    placed(state, GRAPH, e.Node("c", "Const", "CPU:0", kind="folded", count=76))
    for op in ("RFFT", "Mul"):
        fact(state, f"kernel:{op}:float32:GPU", True)
    text = answer(finish(state))
    assert text.startswith("One graph is 9.")
    assert re.search(r"× faster than eager \[9[.\d]* 9[.\d]*\]\. On the CPU 4", text)
    assert text.endswith(
        ": it launches 4 ops instead of 80. All 4 have GPU kernels. No GPU is visible (driver missing)."
    )


def test_a_slightly_lower_op_count_is_not_given_as_the_reason() -> None:
    state = measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 4e-3, GRAPH: 8e-4})
    placed(state, EAGER, e.Node("a", "Mul", "CPU:0", count=13))
    placed(state, GRAPH, e.Node("a", "Mul", "CPU:0", count=9))
    assert "; it launches 9 ops instead of 13." in answer(state)
    for arm, account in (
        (EAGER, made.account(dispatch=3e-3, compute=1e-3)),
        (GRAPH, made.account(dispatch=1e-4, compute=7e-4)),
    ):
        state.apply(e.Accounted(run="r", arm=arm.id, point=0, account=account))
    text = r": dispatch takes 10\d µs instead of 3(\.\d+)? ms; it launches 9 ops instead of 13\."
    assert re.search(text, answer(state))
    state.apply(
        e.Accounted(
            run="r", arm=EAGER.id, point=0, account=made.account(dispatch=1e-3, python=1e-3, copy=2e-3)
        )
    )
    assert "; it launches 9 ops instead of 13." in answer(state), "no phase takes half of the time"


def test_kernels_are_claimed_only_if_all_are_known() -> None:
    state = measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 4e-3, GRAPH: 4e-4})
    placed(state, EAGER, e.Node("a", "Mul", "CPU:0", count=9))
    placed(state, GRAPH, e.Node("a", "Mul", "CPU:0"))
    assert "GPU kernel" not in answer(state)
    fact(state, "kernel:Mul:float32:GPU", True)
    assert "it launches 1 op instead of 9. It has a GPU kernel." in answer(state)
    fact(state, "kernel:Mul:float32:GPU", False)
    assert "GPU kernel" not in answer(state)


def test_an_eager_arm_as_fast_as_the_graph_is_reported_as_such() -> None:
    same = measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 1e-3, GRAPH: 1e-3})
    assert "One graph and eager are equal within the noise" in answer(finish(same))
    faster = measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 1e-3, GRAPH: 2e-3})
    assert answer(faster).startswith("So far eager is 2.0")
    assert "Eager is 2.0" in answer(finish(faster))


def test_arms_within_the_noise_are_called_equal() -> None:
    state = finish(measure(begun([GRAPH, XLA, GPU_GRAPH]), {GRAPH: 1e-3, XLA: 1e-3, GPU_GRAPH: 3e-3}))
    text = answer(state)
    first = re.match(
        r"CPU (graph|xla) and CPU (graph|xla) are fastest, equal within the noise\. CPU (.*) takes", text
    )
    assert first and first[1] == first[3] != first[2], text
    assert re.search(r", CPU (graph|xla) [\d.]+ ms \[.*\]; a difference below [\d.]+% would have", text)
    assert re.search(r"GPU graph [\d.]+ ms \[.*\], [23]\.\d+× slower than CPU graph \[.*\]\.", text)
    both = finish(measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 1e-3}))
    assert re.search(
        r"are equal within the noise\. .*; a difference below [\d.]+% would have gone undetected\.$",
        answer(both),
    )


def test_noise_too_wide_to_show_equality_is_reported() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 1.05e-3}, spread=0.8)
    assert re.search(
        "cannot be told apart within the noise\\. .*; a difference below ", answer(finish(state))
    )


def test_one_round_each_is_not_called_noise() -> None:
    """One round per arm cannot show how much of the difference between 850 ms and 5 ms is noise."""
    state = begun([EAGER, GRAPH, XLA], gpu=False)
    blocks = tuple(e.Block(arm.id, 0, 1, each) for arm, each in ((EAGER, 0.85), (GRAPH, 0.012), (XLA, 0.005)))
    state.apply(e.Round(run="r", index=0, blocks=blocks, elapsed_s=1.0))
    figures = "CPU xla takes 5.0 ms, CPU graph 12 ms, CPU eager 850 ms"
    assert answer(finish(state)).startswith(f"All 3 arms have too few rounds to compare. {figures}")


def test_two_scattered_rounds_give_no_difference() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 5e-3}, rounds=2, spread=2.0)
    text = answer(finish(state))
    assert text.startswith("CPU graph and GPU graph have too few rounds to compare. ") and "noise" not in text
    assert not re.search(r"\d{4}%", text)


def test_two_slow_eager_rounds_are_not_called_noise() -> None:
    """Two rounds, 1.1 s against 23 ms: the interval contains 1 only because one degree of freedom is left."""
    state = begun([EAGER, GRAPH], gpu=False)
    for index, (eager, graph) in enumerate(((0.4, 0.023), (1.8, 0.021))):
        blocks = (e.Block(EAGER.id, 0, 1, eager), e.Block(GRAPH.id, 0, 1, graph))
        state.apply(e.Round(run="r", index=index, blocks=blocks, elapsed_s=1.0 + index))
    text = answer(finish(state))
    assert text.startswith("One graph and eager have too few rounds to compare. "), text
    assert "noise" not in text


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_few_rounds_support_no_claim(rounds: int) -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 1.2e-3}, rounds=rounds, spread=0.1)
    text = answer(state)
    assert "fastest" not in text and "slower" not in text
    assert re.match("So far CPU graph and GPU graph cannot be told apart yet. CPU graph takes", text)


MANY = tuple(Arm("GPU:0", "graph", input="copied", variant=f"a long name {v}") for v in "abcde")


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("spread", [0.0, 0.01, 0.9])
@pytest.mark.parametrize(
    ("arms", "paces"),
    [
        ((EAGER, GRAPH), (4e-3, 4e-4)),
        ((EAGER, GRAPH), (4e-3, 4e-3)),
        ((GRAPH, XLA, GPU_GRAPH), (1e-3, 1e-3, 3e-3)),
        ((GRAPH, XLA, GPU_GRAPH), (1e-3, 1.001e-3, 1.002e-3)),
        (MANY, (1e-3, 1e-3, 1e-3, 1e-3, 1e-3)),
        (MANY, (1e-3, 1e-3, 1e-3, 5e-3, 9e-3)),
        (MANY, (1e-3, 2e-3, 3e-3, 4e-3, 5e-3)),
    ],
)
def test_the_first_sentence_fits_sixty_characters(arms, paces, spread, running) -> None:
    timed = dict(zip(arms, paces, strict=True))
    state = measure(begun(arms, gpu=arms[-1].device != "CPU:0"), timed, spread=spread)
    text = answer(state if running else finish(state))
    first = re.split(r"(?<=[a-z\])])\. ", text)[0].rstrip(".") + "."
    named = max(len(arm.label) for arm in state.arms.values())
    assert len(first) <= 60 or (first.count(",") == 0 and len(first) - named <= 60), first


def test_a_single_arm_is_not_called_the_winner() -> None:
    text = answer(finish(measure(begun([GRAPH]), {GRAPH: 1e-3})))
    assert re.fullmatch(r"CPU graph takes [\d.]+ (ms|µs) \[[\d.]+ [\d.]+\]\.", text)


def test_the_answer_of_a_sweep_begins_with_its_crossover() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH], sizes=SIZES), {GRAPH: cpu_line, GPU_GRAPH: gpu_line})
    text = answer(finish(state))
    assert re.match(
        r"GPU graph overtakes CPU graph at 2[123](\.\d)? k samples \[[\d. k]+\]\. At 256 samples ", text
    )
    assert "At 256 samples CPU graph is fastest" in text
    assert brief(state).swept == "samples"


def test_a_sweep_along_two_axes_names_the_second() -> None:
    axes = [Axis("samples", SIZES), Axis("frame_length", (128, 256))]
    state = measure(begun([GRAPH, GPU_GRAPH], axes=axes), {GRAPH: cpu_line, GPU_GRAPH: gpu_line})
    text = answer(finish(state))
    assert "(frame length 128)." in text
    assert brief(state).swept == "samples, frame length"
    assert "At 256 samples and frame length 256 CPU graph is fastest" in text


@pytest.mark.parametrize(
    ("own", "between"), [(256, " and "), (1_024, r", 11\d(\.\d)? µs \[[\d. ]+\] at 1,024 samples and ")]
)
def test_a_single_arm_of_a_sweep_is_reported_at_both_ends_and_at_the_run_size(own: int, between: str) -> None:
    state = finish(measure(begun([GRAPH], sizes=SIZES, samples=own), {GRAPH: cpu_line}))
    assert re.fullmatch(
        r"CPU graph takes 10\d(\.\d)? µs \[[\d. ]+\] at 256 samples" + between
        + r"7\d\d(\.\d)? µs \[[\d. ]+\] at 65,536 samples\.",
        answer(state),
    ), answer(state)  # fmt: skip


def test_in_a_sweep_of_different_work_both_ends_belong_to_one_arm() -> None:
    state = begun(VARIANTS[:2], gpu=False, sizes=SIZES)
    times = [lambda n: 1e-3, lambda n: 1e-6 * n]
    measure(state, dict(zip(VARIANTS[:2], times, strict=True)))
    for point in state.points:
        for arm, does in zip(VARIANTS[:2], ("packing", "unpacking"), strict=True):
            work = Work(flop=1e6, does=does)
            state.apply(e.WorkKnown(run="r", arm=arm.id, point=point.index, work=work))
    said = answer(finish(state))
    match = re.search(r"(CPU [ab]) takes ([\d.]+) (µs|ms) \[.*\] at 256 samples and ([\d.]+) (µs|ms)", said)
    assert match, said
    scale = {"µs": 1e-6, "ms": 1e-3}
    ends = float(match[2]) * scale[match[3]], float(match[4]) * scale[match[5]]
    own = times["ab".index(match[1][-1])]
    assert ends == (pytest.approx(own(256), rel=0.1), pytest.approx(own(65_536), rel=0.1))


def test_before_any_figure_the_answer_says_what_is_running() -> None:
    state = begun([GRAPH])
    assert answer(state) == "No figure yet: starting."
    state.apply(e.Progress(run="r", stage="warming up", done=0.4, total=1.0))
    assert answer(state) == "No figure yet: warming up."
    state = begun([GRAPH, XLA], sizes=SIZES)
    state.apply(e.FirstCalls(run="r", arm=GRAPH.id, point=1, first_s=0.3, second_s=0.1))
    state.apply(e.Progress(run="r", stage="first call", arm=XLA.id))
    assert answer(state) == "No figure yet: first call, 2 of 2."
    missing = begun([GRAPH, XLA, GPU_GRAPH], sizes=SIZES)
    missing.apply(e.ArmStatus(run="r", arm=GPU_GRAPH.id, status="unavailable", reason="No GPU is visible"))
    missing.apply(e.FirstCalls(run="r", arm=GRAPH.id, point=1, first_s=0.3, second_s=0.1))
    missing.apply(e.Progress(run="r", stage="first call", arm=XLA.id))
    assert answer(missing).startswith("No figure yet: first call, 2 of 2.")
    assert answer(RunState()) == ""


def test_if_every_arm_failed_the_answer_says_why() -> None:
    state = failed(failed(begun([GRAPH, XLA]), GRAPH, "out of memory"), XLA, "out of memory")
    assert answer(finish(state)) == "Nothing was measured. CPU graph and CPU xla failed: out of memory."
    one = failed(failed(begun([GRAPH, XLA]), GRAPH, "out of memory"), XLA, "no such op\nand a traceback")
    first = "CPU graph and CPU xla failed; CPU graph: out of memory."
    assert answer(finish(one)) == f"Nothing was measured. {first}"


def test_a_failed_arm_is_reported_next_to_the_figures() -> None:
    state = failed(measure(begun([GRAPH, XLA]), {GRAPH: 1e-3}), XLA, "cannot compile.")
    assert answer(finish(state)).endswith(" CPU xla failed: cannot compile.")


def test_a_stopped_or_failed_run_keeps_what_it_measured() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 2e-3}, rounds=12)
    assert answer(finish(state, "cancelled")).startswith("Stopped after 12 rounds. CPU graph is fastest: ")
    assert answer(finish(begun([GRAPH]), "cancelled")) == (
        "Stopped before the first round. Nothing was measured: the run ended before it was measured."
    )
    broken = finish(begun([GRAPH]), "failed", "the worker died.")
    assert answer(broken).startswith("The run failed before the first round: the worker died. ")


def test_only_gpu_arms_without_a_gpu() -> None:
    state = finish(
        unavailable(begun([GPU_GRAPH], gpu=False, no_gpu="CUDA_VISIBLE_DEVICES is empty"), GPU_GRAPH)
    )
    assert answer(state) == (
        "No GPU is visible (CUDA_VISIBLE_DEVICES is empty). Nothing was measured: only GPU arms were chosen. "
        "Set the device to both, or CPU."
    )


def test_an_arm_that_ran_elsewhere_is_not_named_after_the_gpu() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 2e-3})
    state.apply(e.ArmStatus(run="r", arm=GPU_GRAPH.id, status="ok", device="CPU:0"))
    assert "GPU graph (which ran on CPU:0) " in answer(finish(state))


def test_a_run_with_only_facts_reports_them() -> None:
    state = fact(begun([GRAPH]), "traces", 1, "the function was traced once")
    state.apply(e.ArmStatus(run="r", arm=GRAPH.id, status="ok", device="CPU:0"))
    assert answer(finish(state)) == "No arm was timed. Observed: the function was traced once."


def test_variants_are_named_by_their_titles() -> None:
    serial, parallel = (Arm("CPU:0", "graph", variant=v) for v in ("serial", "parallel"))
    state = finish(measure(begun([serial, parallel], gpu=False), {serial: 3e-3, parallel: 1e-3}))
    assert re.fullmatch(
        r"CPU parallel is fastest: .* CPU serial 3\.\d+ ms .*, [23]\.\d+× slower \[.*\]\. No GPU is visible\.",
        answer(state),
    )


def test_a_time_of_zero_is_not_a_figure() -> None:
    state = measure(begun([GRAPH, XLA]), {GRAPH: 0.0, XLA: 1e-3})
    assert "CPU graph" not in answer(state)


def test_a_ratio_that_differs_from_the_quotient_of_the_medians_says_so() -> None:
    """In just over half of the rounds, the machine is busy and the arms are nearly equal. These rounds
    determine the medians.
    """
    state = begun([EAGER, GRAPH], gpu=False)
    for index in range(41):
        graph, ratio = (4e-3, 1.2) if index % 2 == 0 else (1e-3, 3.0)
        blocks = (e.Block(EAGER.id, 0, 1, graph * ratio), e.Block(GRAPH.id, 0, 1, graph))
        state.apply(e.Round(run="r", index=index, blocks=blocks, elapsed_s=index / 10))
    assert medians(measure(state, {EAGER: 1e-9, GRAPH: 1e-9}, rounds=0), EAGER, GRAPH) == pytest.approx(1.2)
    said = answer(finish(state))
    assert re.search(r"1\.[789]\d*× faster than eager \[1.* [12].*\]\. On the CPU 4", said), said
    assert (
        "; the quotient of the medians is 1.20×, because the medians combine rounds of different speeds"
        in said
    ), said
    clause, hint = _aside(said)
    assert f"{clause}." in said and hint == "medians: 1.20×"
    for arm, count in ((EAGER, 43), (GRAPH, 5)):
        node = e.Node("n", "Mul", "CPU:0", kind="op", count=count)
        state.apply(e.Placement(run="r", arm=arm.id, nodes=(node,)))
    order = r"against \S+ ms \[.*\]: it launches 5 ops instead of 43; the quotient of the medians is 1.20×, because"
    assert re.search(order, answer(state)), "the reason follows the ratio that it explains"
    plain = answer(finish(measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 3e-3, GRAPH: 1e-3})))
    assert _aside(plain) == ("", "")
    assert "the quotient of the medians" not in plain and "3.00× faster than eager [" in plain


def test_two_arms_with_long_names_are_called_both() -> None:
    one, other = (msgspec.structs.replace(GRAPH, variant=f"a-variant-with-a-long-name-{n}") for n in "ab")
    said = answer(finish(measure(begun([one, other], gpu=False), {one: 1e-3, other: 1e-3})))
    assert said.startswith("Both arms are equal within the noise. ")


def test_figures_follow_the_order_of_their_names() -> None:
    said = answer(finish(measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 1e-3, GRAPH: 2e-3})))
    assert re.search(
        r"Eager is 2\.\d+× faster than one graph \[.*\]\. On the CPU 1\.\d+ ms.* against [12]\.\d+ ms", said
    ), said


def fixed(state: RunState, rounds: int = 40, **by_arm: Callable[[int], float]) -> RunState:
    for index in range(rounds):
        blocks = tuple(
            e.Block(arm, 0, 1, by_arm[known.arm.variant](index)) for arm, known in state.arms.items()
        )
        state.apply(e.Round(run="r", index=index, blocks=blocks, elapsed_s=index / 10))
    for arm in state.arms:
        state.apply(e.ArmStatus(run="r", arm=arm, status="ok", device="CPU:0"))
    return finish(state)


def pace(middle: float, swing: float) -> Callable[[int], float]:
    """Return a function that maps a round's number to seconds around `middle`. swing: relative variation, in
    a cycle of four rounds.
    """
    return lambda index: middle * (1 + swing * (-1.5, -0.5, 0.5, 1.5)[(7 * index) % 4])


VARIANTS = tuple(Arm("CPU:0", "graph", variant=v) for v in ("a", "b", "c"))


def test_an_arm_between_two_that_are_nearly_equal_is_not_called_slower() -> None:
    near = fixed(begun(VARIANTS, gpu=False), a=pace(1.0, 0), b=pace(1.02, 0.001), c=pace(1.025, 0.06))
    said = answer(near)
    assert re.search(
        r"^CPU a, CPU b and CPU c are within 5.2% of each other\. CPU a takes 1.0.*, CPU b .*, CPU c ", said
    ), said
    assert "slower" not in said and "fastest" not in said


def test_an_arm_too_noisy_to_compare_leaves_the_others_comparable() -> None:
    wild = fixed(begun(VARIANTS, gpu=False), a=pace(1.0, 0), b=pace(1.5, 0.001), c=pace(1.6, 0.66))
    said = answer(wild)
    assert said.startswith("CPU a is fastest of the distinguishable arms: "), said
    assert "CPU b 1.5" in said and "1.50× slower [" in said
    assert "CPU c (" in said and "varies too much to compare." in said


def test_two_rounds_are_not_said_to_vary() -> None:
    state = begun(VARIANTS, gpu=False)
    for index in range(40):
        paces = (1.0, 1.5 + index / 1_000, *([1.6, 40.0][index : index + 1]))
        blocks = tuple(e.Block(arm.id, 0, 1, s) for arm, s in zip(VARIANTS, paces, strict=False))
        state.apply(e.Round(run="r", index=index, blocks=blocks, elapsed_s=index / 10))
    for arm in VARIANTS:
        state.apply(e.ArmStatus(run="r", arm=arm.id, status="ok", device="CPU:0"))
    said = answer(finish(state))
    assert "CPU c has too few rounds to compare." in said and "varies" not in said, said


def test_with_several_leaders_the_faster_arm_of_a_pair_is_named() -> None:
    state = fixed(begun(VARIANTS, gpu=False), a=pace(1.0, 0.01), b=pace(1.001, 0.01), c=pace(3.0, 0.01))
    said = answer(state)
    assert "1.00×" not in said and "CPU a and CPU b are within 0.1% of each other. CPU a takes " in said
    assert ", CPU b 1.001 s [0.9960 1.006]. " in said
    assert "3.00× slower than CPU a [" in said


def working(state: RunState, **kinds: str) -> RunState:
    for arm, known in state.arms.items():
        work = Work(flop=1e6, does=kinds[known.arm.variant])
        state.apply(e.WorkKnown(run="r", arm=arm, point=0, work=work))
    return state


def test_only_arms_that_do_the_same_work_are_compared() -> None:
    state = working(begun(VARIANTS, gpu=False), a="packing", b="unpacking", c="packing")
    fixed(state, a=pace(1.0, 0.01), b=pace(0.1, 0.01), c=pace(3.0, 0.01))
    said = answer(state)
    assert re.match(
        r"Packing: CPU a is fastest: 1\..*CPU c 3\..*, 3\.00× slower \[.*\]\. Unpacking: CPU b takes ", said
    ), said
    assert said.count("slower") == 1 and {(r.a, r.b) for r in summarise(state).ratios} == {
        (VARIANTS[2].id, VARIANTS[0].id)
    }
    assert {arm: r.words for arm, r in to_fastest(summarise(state)).items()} == {VARIANTS[2].id: "3.00×"}
    assert brief(state).fastest == "CPU a" and brief(state).next == "CPU c"


def test_an_xla_program_counts_as_one_and_an_endless_loop_as_at_least_one_pass() -> None:
    state = measure(begun([EAGER, XLA], gpu=False), {EAGER: 4e-3, XLA: 4e-4})
    placed(state, EAGER, e.Node("a", "Mul", "CPU:0", count=90))
    placed(state, XLA, *(e.Node(f"p/{i}", "hlo multiply", "CPU:0") for i in range(7)))
    said = answer(finish(state))
    assert ": it launches one program instead of 90 ops." in said and "GPU kernel" not in said
    loop = measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 4e-3, GRAPH: 4e-4})
    placed(loop, EAGER, e.Node("a", "Mul", "CPU:0", count=90))
    placed(loop, GRAPH, e.Node("w/body/_1/a", "Mul", "CPU:0", count=8), e.Node("w/enter", "Enter", "CPU:0"))
    assert ": it launches 8 ops instead of 90." in answer(loop)
    work = Work(uncounted=("StatelessWhile (its number of iterations depends on the data)",))
    loop.apply(e.WorkKnown(run="r", arm=GRAPH.id, point=0, work=work))
    assert ": it launches at least 8 ops instead of 90." in answer(finish(loop))


def test_a_sweep_does_not_pair_arms_that_do_different_work() -> None:
    state = begun(
        [*VARIANTS[:2], *(msgspec.structs.replace(a, device="GPU:0") for a in VARIANTS[:2])], sizes=SIZES
    )
    measure(state, {arm.arm: (1 + i) * 1e-3 for i, arm in enumerate(state.arms.values())})
    for point in state.points:
        for arm, known in state.arms.items():
            does = "packing" if known.arm.variant == "a" else "unpacking"
            state.apply(e.WorkKnown(run="r", arm=arm, point=point.index, work=Work(does=does)))
    pairs = {frozenset((c.a, c.b)) for c in summarise(finish(state)).crossovers}
    assert pairs == {
        frozenset((f"cpu0.graph.resident.float32.{v}", f"gpu0.graph.resident.float32.{v}")) for v in "ab"
    }


def test_an_arm_traced_in_each_call_is_reported_first_and_never_compared() -> None:
    state = measure(begun([EAGER, GRAPH, XLA], gpu=False), {EAGER: 2e-2, GRAPH: 1e-3, XLA: 2e-3})
    words = "your function is retraced in each call: step gets a new Python value; pass tensors"
    state.apply(e.Caveat(run="r", code="retraced", message=words, arm=EAGER.id))
    said = answer(finish(state))
    assert said.startswith("CPU eager (20") and f"is not compared: {words}. " in said
    assert "CPU graph is fastest" in said and "than eager" not in said and "20×" not in said
    assert EAGER.id not in {arm for r in summarise(state).ratios for arm in (r.a, r.b)}


def test_an_unfinished_point_appears_in_no_sentence() -> None:
    sizes = SIZES[:3]
    state = begun([GRAPH, GPU_GRAPH], sizes=sizes)
    for point, (index, paces) in enumerate([(0, (1e-3, 3e-3)), (1, (2e-3, 3e-3)), (2, (9e-3, 3e-3))]):
        for _ in range(20 if point < 2 else 3):
            noise = 1 + 0.001 * (state.rounds % 5)
            blocks = tuple(
                e.Block(arm.id, index, 1, pace * noise)
                for arm, pace in zip((GRAPH, GPU_GRAPH), paces, strict=True)
            )
            state.apply(e.Round(run="r", index=state.rounds, blocks=blocks, elapsed_s=state.rounds / 10))
    for arm in (GRAPH, GPU_GRAPH):
        state.apply(e.ArmStatus(run="r", arm=arm.id, status="ok", device=arm.device))
    for ending in (None, "cancelled"):
        if ending:
            finish(state, ending)
        result = summarise(state)
        assert [point.finished for point in result.points] == [True, True, False]
        assert "4,096" not in result.answer and "4,096" not in result.crossover.sentence
        assert [row[0] for row in sweep_rows(result)[1]] == ["256", "1,024", "4,096 (not finished)"]
        assert [sorted(s.hollow) for s in sweep_chart(result).series if s.x] == [[2], [2]]
    over = measure(begun([GRAPH], sizes=sizes), {GRAPH: 1e-3}, rounds=3)
    assert all(point.finished for point in summarise(finish(over)).points), (
        "the run ended normally, so every point is finished"
    )


def medians(state: RunState, a: Arm, b: Arm) -> float:
    one, other = (estimate_at(state.arms[arm.id], 0) for arm in (a, b))
    assert one is not None and other is not None
    return one.median / other.median
