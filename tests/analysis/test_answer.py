"""The answer says what was shown, and no more."""

import re

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
from tuilab.analysis.answer import answer, brief
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis


def cpu_line(x: int) -> float:
    return 1e-4 + 1e-8 * x


def gpu_line(x: int) -> float:
    return 3e-4 + 1e-9 * x


def test_the_fastest_and_the_other_device_with_its_copying() -> None:
    state = measure(begun([GRAPH, GPU_COPIED, EAGER]), {GRAPH: 4.8e-4, GPU_COPIED: 6.1e-4, EAGER: 4.5e-3})
    finish(phases(state, GPU_COPIED, copy_in=3e-4, copy_out=1.33e-4, compute=1.77e-4))
    text = answer(state)
    assert re.fullmatch(
        r"CPU graph is fastest: 4[78]\d(\.\d)? µs \[4\d\d(\.\d)? 4\d\d(\.\d)?\]\. "
        r"GPU graph copied 6\d\d(\.\d)? µs \[[\d.]+ [\d.]+\], 1\.2\d × slower; 71 % of it is copying\.",
        text,
    )


@pytest.mark.parametrize("other", [XLA, EAGER])
def test_no_arm_is_called_faster_where_the_rounds_contradict_the_medians(other) -> None:
    # Most rounds of the graph take 1 ms and some 2 ms: its median is the lesser, its rounds are slower.
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


def test_without_a_gpu_it_says_so_and_what_can_still_be_learnt() -> None:
    state = begun([EAGER, GRAPH, GPU_GRAPH], gpu=False, no_gpu="driver missing")
    measure(unavailable(state, GPU_GRAPH), {EAGER: 4.5e-3, GRAPH: 4.8e-4})
    placed(state, EAGER, *(e.Node(f"n{i}", "Mul", "CPU:0", count=20) for i in range(4)))
    placed(state, GRAPH, e.Node("a", "RFFT", "CPU:0"), e.Node("b", "Mul", "CPU:0", count=3))
    placed(state, GRAPH, e.Node("c", "Const", "CPU:0", kind="folded", count=76))
    for op in ("RFFT", "Mul"):
        fact(state, f"kernel:{op}:float32:GPU", True)
    text = answer(finish(state))
    assert text.startswith("On the CPU, one graph is 9.")
    assert "× faster than eager (" in text
    assert text.endswith(
        ": it launches 4 ops instead of 80. All 4 have GPU kernels. No GPU is visible (driver missing)."
    )


def test_kernels_are_claimed_only_where_each_is_known() -> None:
    state = measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 4e-3, GRAPH: 4e-4})
    placed(state, EAGER, e.Node("a", "Mul", "CPU:0", count=9))
    placed(state, GRAPH, e.Node("a", "Mul", "CPU:0"))
    assert "GPU kernel" not in answer(state)
    fact(state, "kernel:Mul:float32:GPU", True)
    assert "it launches 1 op instead of 9. It has a GPU kernel." in answer(state)
    fact(state, "kernel:Mul:float32:GPU", False)
    assert "GPU kernel" not in answer(state)


def test_eager_that_is_as_fast_or_faster_is_not_talked_away() -> None:
    same = measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 1e-3, GRAPH: 1e-3})
    assert "one graph and eager are equal within the noise" in answer(finish(same))
    faster = measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 1e-3, GRAPH: 2e-3})
    assert "On the CPU, eager is 2.0" in answer(finish(faster))


def test_arms_that_the_noise_cannot_tell_apart_are_called_equal() -> None:
    state = finish(measure(begun([GRAPH, XLA, GPU_GRAPH]), {GRAPH: 1e-3, XLA: 1e-3, GPU_GRAPH: 3e-3}))
    text = answer(state)
    assert "are fastest, equal within the noise; a difference below " in text
    assert "CPU graph (" in text and "CPU xla (" in text
    assert re.search(r"GPU graph [\d.]+ ms \[.*\], [23]\.\d+ × slower\.", text)
    both = finish(measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 1e-3}))
    assert re.search(
        r"are equal within the noise; a difference below [\d.]+ % would not have been seen\.$", answer(both)
    )


def test_noise_too_wide_for_equality_says_so() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 1.05e-3}, spread=0.8)
    assert "cannot be told apart within the noise; a difference below " in answer(finish(state))


def test_two_wild_rounds_tell_no_difference_and_no_absurd_one() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 5e-3}, rounds=2, spread=2.0)
    text = answer(finish(state))
    assert "cannot be told apart within the noise; they have too few rounds in common to tell" in text
    assert not re.search(r"\d{4} %", text)


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_few_rounds_claim_nothing(rounds: int) -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 1.2e-3}, rounds=rounds, spread=0.1)
    text = answer(state)
    assert "fastest" not in text and "slower" not in text
    assert text.startswith("So far ") and text.endswith("cannot be told apart yet.")


def test_a_single_arm_is_no_winner() -> None:
    text = answer(finish(measure(begun([GRAPH]), {GRAPH: 1e-3})))
    assert re.fullmatch(r"CPU graph takes [\d.]+ (ms|µs) \[[\d.]+ [\d.]+\]\.", text)


def test_a_sweep_begins_with_its_crossover() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH], sizes=SIZES), {GRAPH: cpu_line, GPU_GRAPH: gpu_line})
    text = answer(finish(state))
    assert re.match(
        r"GPU graph overtakes CPU graph at 2[123](\.\d)? k samples \[[\d. k]+\]\. At 256 samples ", text
    )
    assert "At 256 samples CPU graph is fastest" in text


def test_a_sweep_along_two_axes_names_the_second() -> None:
    axes = [Axis("samples", SIZES), Axis("frame_length", (128, 256))]
    state = measure(begun([GRAPH, GPU_GRAPH], axes=axes), {GRAPH: cpu_line, GPU_GRAPH: gpu_line})
    text = answer(finish(state))
    assert "(frame length 128)." in text
    assert "At 256 samples and frame length 256 CPU graph is fastest" in text


def test_a_lone_arm_of_a_sweep_shows_both_ends() -> None:
    state = finish(measure(begun([GRAPH], sizes=SIZES), {GRAPH: cpu_line}))
    assert re.fullmatch(
        r"At 256 samples CPU graph takes 10\d(\.\d)? µs \[[\d. ]+\]\. "
        r"CPU graph takes 10\d(\.\d)? µs \[[\d. ]+\] at 256 samples "
        r"and 7\d\d(\.\d)? µs \[[\d. ]+\] at 65,536 samples\.",
        answer(state),
    )


def test_nothing_yet_says_what_goes_on() -> None:
    state = begun([GRAPH])
    assert answer(state) == "No figure yet: starting."
    state.apply(e.Progress(run="r", stage="warming up", done=0.4, total=1.0))
    assert answer(state) == "No figure yet: warming up."
    assert answer(RunState()) == ""


def test_when_everything_failed_it_says_why() -> None:
    state = failed(failed(begun([GRAPH, XLA]), GRAPH, "out of memory"), XLA, "out of memory")
    assert answer(finish(state)) == "No arm was measured. CPU graph and CPU xla failed: out of memory."
    one = failed(failed(begun([GRAPH, XLA]), GRAPH, "out of memory"), XLA, "no such op\nand a traceback")
    assert answer(finish(one)) == "No arm was measured. CPU graph and CPU xla did not run."


def test_one_failure_stands_beside_the_figures() -> None:
    state = failed(measure(begun([GRAPH, XLA]), {GRAPH: 1e-3}), XLA, "cannot compile.")
    assert answer(finish(state)).endswith(" CPU xla failed: cannot compile.")


def test_a_stopped_or_failed_run_keeps_what_it_measured() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 2e-3}, rounds=12)
    assert answer(finish(state, "cancelled")).startswith("Stopped after 12 rounds. CPU graph is fastest: ")
    assert answer(finish(begun([GRAPH]), "cancelled")) == (
        "Stopped before the first round. No arm was measured: the run ended before it was measured."
    )
    broken = finish(begun([GRAPH]), "failed", "the worker died.")
    assert answer(broken).startswith("The run failed before the first round: the worker died. ")


def test_only_gpu_arms_without_a_gpu() -> None:
    state = finish(
        unavailable(begun([GPU_GRAPH], gpu=False, no_gpu="CUDA_VISIBLE_DEVICES is empty"), GPU_GRAPH)
    )
    assert answer(state) == (
        "No GPU is visible (CUDA_VISIBLE_DEVICES is empty). The run had no arm for the CPU."
    )


def test_an_arm_that_ran_elsewhere_does_not_bear_the_gpus_name() -> None:
    state = measure(begun([GRAPH, GPU_GRAPH]), {GRAPH: 1e-3, GPU_GRAPH: 2e-3})
    state.apply(e.ArmStatus(run="r", arm=GPU_GRAPH.id, status="ok", device="CPU:0"))
    assert "GPU graph (which ran on CPU:0) " in answer(finish(state))


def test_facts_alone_are_told() -> None:
    state = fact(begun([GRAPH]), "traces", 1, "the function was traced once")
    state.apply(e.ArmStatus(run="r", arm=GRAPH.id, status="ok", device="CPU:0"))
    assert answer(finish(state)) == "Nothing was timed; observed: the function was traced once."


def test_variants_are_named_by_what_they_are() -> None:
    serial, parallel = (Arm("CPU:0", "graph", variant=v) for v in ("serial", "parallel"))
    state = finish(measure(begun([serial, parallel], gpu=False), {serial: 3e-3, parallel: 1e-3}))
    assert re.fullmatch(
        r"CPU parallel is fastest: .* CPU serial 3\.\d+ ms .*, [23]\.\d+ × slower\. No GPU is visible\.",
        answer(state),
    )


def test_a_zero_time_is_no_figure() -> None:
    state = measure(begun([GRAPH, XLA]), {GRAPH: 0.0, XLA: 1e-3})
    assert "CPU graph" not in answer(state)
