import math
import random
import re
from collections.abc import Callable

import pytest

from tuilab.analysis.crossover import Timings, next_size, places
from tuilab.analysis.crossover_words import Pair, crossover, crossover_of
from tuilab.analysis.ratios import ratio

PAIR = Pair("gpu", "cpu", "GPU graph", "CPU graph", "samples")
SIZES = (256, 1_024, 4_096, 16_384, 65_536)


def measured(
    cost: Callable[[int], float],
    sizes: tuple[int, ...] = SIZES,
    spread: float = 0.01,
    seed: int = 1,
    n: int = 20,
) -> Timings:
    draw = random.Random(seed)
    return {x: {r: cost(x) * math.exp(draw.gauss(0, spread)) for r in range(n)} for x in sizes}


def cpu(x: int) -> float:
    return 1e-4 + 1e-8 * x


def gpu(x: int) -> float:
    return 3e-4 + 1e-9 * x  # as fast as the CPU at size 22,222


def test_a_crossover_is_found() -> None:
    found = crossover(measured(gpu), measured(cpu, seed=2), PAIR)
    assert (found.status, found.a, found.b) == ("found", "gpu", "cpu")
    assert found.at is not None and found.ci95 is not None
    assert found.ci95[0] <= 22_222 <= found.ci95[1]
    assert found.sentence.startswith("GPU graph overtakes CPU graph at 2")
    assert " k samples [" in found.sentence


def test_arm_a_is_the_one_that_overtakes_in_either_order() -> None:
    pair = Pair("cpu", "gpu", "CPU graph", "GPU graph", "samples")
    found = crossover(measured(cpu, seed=2), measured(gpu), pair)
    assert (found.status, found.a, found.b) == ("found", "gpu", "cpu")


def test_no_crossover_names_the_faster_arm_and_its_factor() -> None:
    found = crossover(measured(lambda x: 3 * cpu(x)), measured(cpu, seed=2), PAIR)
    assert (found.status, found.at, found.ci95) == ("none", None, None)
    assert found.sentence.startswith(
        "No crossover up to 65,536 samples. CPU graph is faster than GPU graph at every size: "
    )
    assert found.sentence.endswith("] at 65,536, round by round.")


def test_no_crossover_claims_no_lead_within_the_noise() -> None:
    ahead = measured(cpu, seed=2)
    found = crossover(measured(lambda x: cpu(x) * (0.999 if x == 256 else 1.3)), ahead, PAIR)
    assert found.status == "none"
    assert "CPU graph is faster than GPU graph from 1,024 on: 1." in found.sentence
    assert found.sentence.endswith(" Below 1,024 the two are equal within the noise.")


def test_a_gap_that_closes_at_the_end_is_beyond() -> None:
    near = SIZES[:-1]
    found = crossover(measured(gpu, near), measured(cpu, near, seed=2), PAIR)
    assert (found.status, found.a) == ("beyond", "gpu")
    start = "GPU graph does not overtake CPU graph up to 16,384 samples. It is still 1.2"
    assert found.sentence.startswith(start)
    assert " slower there [1." in found.sentence
    assert found.sentence.endswith("], round by round, but the gap closes.")


def test_a_gap_that_closes_too_slowly_gives_no_crossover() -> None:
    found = crossover(measured(lambda x: 10 * x**-0.02), measured(lambda x: 1.0, seed=2), PAIR)
    assert found.status == "none"


def test_equal_at_the_largest_size_is_beyond() -> None:
    found = crossover(measured(lambda x: cpu(x) * (1 if x == SIZES[-1] else 2)), measured(cpu, seed=2), PAIR)
    assert found.status == "beyond"
    assert "equal within the noise" in found.sentence


def test_equal_arms_are_unknown_and_few_rounds_say_so() -> None:
    same = crossover(measured(cpu), measured(cpu, seed=2), PAIR)
    assert same.status == "unknown"
    assert same.sentence.startswith("GPU graph and CPU graph are within 1.")
    assert same.sentence.endswith("% of each other at every size.")
    wide = crossover(measured(cpu, spread=0.6), measured(cpu, seed=4, spread=0.6), PAIR)
    assert (wide.status, wide.sentence) == (
        "unknown",
        "GPU graph and CPU graph cannot be told apart at any size.",
    )
    only = {SIZES[0]: measured(cpu, spread=0.6)[SIZES[0]]}
    other = {SIZES[0]: measured(cpu, seed=4, spread=0.6)[SIZES[0]]}
    told = crossover(only, other, PAIR).sentence
    assert "at any size" not in told and told.endswith(", the only measured size.")
    one = crossover(measured(gpu, n=1), measured(cpu, n=1), PAIR)
    assert (one.status, one.sentence) == ("unknown", "Too few rounds to compare GPU graph with CPU graph.")
    assert crossover({}, {}, PAIR).status == "unknown"


def test_several_are_all_named() -> None:
    found = crossover(measured(lambda x: 1 + (1_024 <= x <= 16_384)), measured(lambda x: 1.5, seed=2), PAIR)
    assert found.status == "several"
    assert found.sentence.count("overtakes") == 2
    assert found.a == "cpu"


def test_a_lead_that_jumps_from_size_to_size_is_not_a_crossover() -> None:
    found = crossover(measured(lambda x: 1 + (x in (1_024, 16_384))), measured(lambda x: 1.5, seed=2), PAIR)
    assert (found.status, found.at) == ("unknown", None)
    assert found.sentence == (
        "No crossover persists between GPU graph and CPU graph: the lead changes 4 times. "
        "GPU graph is faster at 256, 4,096 and 65,536, "
        "CPU graph at 1,024 and 16,384; this may be noise."
    )


def test_arms_that_become_equal_say_from_which_size() -> None:
    found = crossover(measured(lambda x: cpu(x) * (1 + (x < 4_096))), measured(cpu, seed=2), PAIR)
    assert found.status == "beyond"
    assert found.sentence.endswith("from 4,096 on, the two are equal within the noise.")


def test_one_size_shows_no_crossover() -> None:
    found = crossover(measured(gpu, (256,)), measured(cpu, (256,), seed=2), PAIR)
    assert found.status == "none"
    assert found.sentence.endswith("A single size cannot show a crossover.")


def test_bisection_needs_few_sizes_and_then_stops() -> None:
    a, b = dict(measured(gpu)), dict(measured(cpu, seed=2))
    asked = []
    while (step := next_size(a, b, 0.05)).size is not None:
        asked.append(step.size)
        a |= measured(gpu, (step.size,), seed=step.size)
        b |= measured(cpu, (step.size,), seed=step.size + 1)
    assert 1 <= len(asked) <= 3
    assert all(16_384 < size < 65_536 for size in asked)
    found = crossover(a, b, PAIR)
    assert found.at == pytest.approx(22_222, rel=0.05)
    assert found.ci95 is not None and found.ci95[0] <= 22_222 <= found.ci95[1]
    assert found.ci95[1] / found.ci95[0] < 1.11
    half = (found.ci95[1] / found.ci95[0]) ** 0.5 - 1
    known = re.fullmatch(r"known to ± (\d+\.\d)%", step.reason)
    assert known and float(known[1]) == pytest.approx(100 * half, abs=0.3)


def test_bisection_stops_when_noise_dominates() -> None:
    a, b = dict(measured(gpu, spread=0.2)), dict(measured(cpu, spread=0.2, seed=2))
    for _ in range(10):
        step = next_size(a, b, 0.01)
        if step.size is None:
            break
        a |= measured(gpu, (step.size,), spread=0.2, seed=step.size)
        b |= measured(cpu, (step.size,), spread=0.2, seed=step.size + 1)
    assert step.reason == "only more rounds, not more sizes, can narrow the interval"


def test_bisection_stops_at_neighbours() -> None:
    a = measured(lambda x: 1 / x, (3, 4))
    b = measured(lambda x: 1 / 3.5, (3, 4), seed=2)
    assert next_size(a, b) == next_size(b, a)
    assert next_size(a, b).reason == "no size lies between 3 and 4"


def test_bisection_uses_only_allowed_sizes() -> None:
    a, b = measured(gpu), measured(cpu, seed=2)
    step = next_size(a, b, allowed=lambda x: 4_096 * round(x / 4_096))
    assert step.size is not None and step.size % 4_096 == 0
    assert next_size(a, b, allowed=lambda x: 16_384).size is None


def test_equal_arms_leave_no_size_to_bisect() -> None:
    step = next_size(measured(cpu), measured(cpu, seed=2))
    assert step.size is None


def test_a_crossover_is_a_whole_size_or_lies_between_two() -> None:
    def gpu(x: int) -> float:
        return (6.3 / x) ** 0.05

    sizes = (1, 4, 16, 64)
    coarse = crossover(measured(gpu, sizes), measured(lambda x: 1.0, sizes, seed=2), PAIR)
    assert coarse.at is not None and coarse.ci95 is not None
    low, high = (int(end) for end in coarse.ci95)
    assert (low, high) == coarse.ci95 and high > low + 1
    assert coarse.sentence == f"GPU graph overtakes CPU graph at {coarse.at:.0f} samples [{low} {high}]."
    near = (1, 4, 6, 7, 8)
    fine = crossover(measured(lambda x: 6.3 / x, near), measured(lambda x: 1.0, near, seed=2), PAIR)
    assert fine.ci95 == (6, 7)
    assert fine.sentence == "GPU graph overtakes CPU graph between 6 and 7 samples."


def test_a_lead_that_reverses_next_to_a_crossover_widens_it() -> None:
    near = (1, 4, 6, 7, 8, 16, 64)

    def gpu(x: int) -> float:
        return (6.3 / x) ** 0.3

    def uneven(x: int) -> float:
        return gpu(x) * {6: 0.8, 7: 1.3}.get(x, 1.0)

    even, found = (
        crossover(measured(cost, near), measured(lambda x: 1.0, near, seed=2), PAIR) for cost in (gpu, uneven)
    )
    assert even.ci95 == (6, 7)
    assert found.ci95 is None or (found.ci95[0] < 6 and found.ci95[1] > 7)


def test_sentences_agree_with_the_interval_at_each_size() -> None:
    """`cannot be told apart` appears only for sizes at which the 95% interval of the ratio contains 1."""
    told = 0
    for seed in range(60):
        a = measured(lambda x: cpu(x) * 1.25, spread=0.35, seed=seed)
        b = measured(cpu, spread=0.35, seed=1_000 + seed)
        shown = {x: (found, "") for x in SIZES if (found := ratio(a[x], b[x])) is not None}
        apart = [x for x, (found, _) in shown.items() if found.sign]
        sentence = crossover_of(places(a, b, shown=shown), PAIR).sentence
        told += 0 < len(apart) < len(SIZES)
        if apart:
            assert "at any size" not in sentence
        if apart and (below := re.search(r"Below ([\d,]+) the two cannot be told apart", sentence)):
            assert min(apart) == int(below[1].replace(",", ""))
        if len(apart) < len(SIZES):
            assert "at every size:" not in sentence
    assert told > 30
