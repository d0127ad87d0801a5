import math
import random
import statistics
from array import array

import pytest

from tests.analysis.made_runs import begun, finish, measure, placed
from tests.made import GRAPH, XLA, started
from tuilab.analysis.crossover_words import Pair, crossover
from tuilab.analysis.processes import describe_coverage, doubt, estimate_of, log_ratio, middle_of_processes
from tuilab.analysis.reading import compare, estimate_at
from tuilab.analysis.statistics import chi_squared_tail, estimate
from tuilab.analysis.summary import summarise
from tuilab.model import events as e
from tuilab.model.run import ArmSamples, RunState

ROUNDS = 40


def cell(*paces: float, noise: float = 0.01, seed: int = 1, rounds: int = ROUNDS) -> ArmSamples:
    """Return an arm's samples with noise. paces: seconds per call of each process."""
    draw = random.Random(seed)
    samples = [pace * math.exp(draw.gauss(0, noise)) for pace in paces for _ in range(rounds)]
    starts = [rounds * i for i in range(1, len(paces))]
    return ArmSamples(array("d", samples), array("i", range(len(samples))), array("i", starts))


def test_one_process_is_estimated_by_its_rounds() -> None:
    one = cell(1e-3)
    assert estimate_of(one) == estimate(one.samples) and doubt(one) is None
    assert log_ratio(one, cell(2e-3, seed=2)).mean == pytest.approx(-math.log(2), rel=0.01)


def test_each_interval_of_a_continued_sweep_covers_the_processes_that_measured_its_size() -> None:
    """The second process has measured only the sizes that the first one left."""
    state = begun((GRAPH,), gpu=False)
    first, second = cell(1e-3), cell(1e-3)
    second.rounds[:] = array("i", (ROUNDS + at for at in second.rounds))
    cells = state.arms[GRAPH.id].cells
    cells[0] = first
    assert describe_coverage(state) == "within this process and minute"
    cells[1] = second
    first.begun.append(ROUNDS), second.begun.append(ROUNDS)
    assert describe_coverage(state) == "each within one process"
    cells[2] = cell(1e-3, 1e-3)
    assert describe_coverage(state) == "spanning 1 to 2 processes"
    cells.pop(0), cells.pop(1)
    assert describe_coverage(state) == "spanning 2 processes"


@pytest.mark.parametrize("between", [0.0, 0.005, 0.02, 0.1])
def test_the_interval_of_three_processes_covers_further_processes(between: float) -> None:
    draw = random.Random(5)
    hits = ratios = 0
    still = cell(*[1.0] * 3, noise=0.0)
    for seed in range(250):
        found = cell(*(math.exp(draw.gauss(0, between)) for _ in range(3)), seed=seed)
        known = estimate_of(found)
        hits += known.low <= 1 <= known.high
        ratio = log_ratio(found, still)
        ratios += abs(ratio.mean) <= ratio.half_width()
    assert min(hits, ratios) >= 0.92 * 250


def forked(zygotes: list[int], own: dict[int, float], noise: float, seed: int) -> ArmSamples:
    """Return an arm's samples from a fresh process and from forks of zygotes, each with its own speed."""
    draw = random.Random(seed)
    paces = [math.exp(own.get(zygote, 0.0) + draw.gauss(0, noise)) for zygote in (-1, *zygotes)]
    found = cell(*paces, seed=seed, rounds=8)
    found.zygotes.extend(zygotes)
    return found


def test_forks_of_similar_zygotes_count_as_independent_observations() -> None:
    hits, widths = 0, []
    for seed in range(400):
        found = forked([0, 1, 2] * 6 + [0], {}, 0.05, seed)
        known, plain = estimate_of(found), estimate_of(cell_without_zygotes(found))
        hits += known.low <= 1 <= known.high
        widths.append(known.half_width / plain.half_width)
    assert hits >= 0.93 * 400 and statistics.median(widths) == 1


def test_if_zygotes_differ_each_is_one_observation() -> None:
    draw, hits, without = random.Random(7), 0, 0
    for seed in range(300):
        own = {zygote: draw.gauss(0, 0.2) for zygote in range(3)}
        found = forked([0, 1, 2] * 6 + [0], own, 0.02, seed)
        known, plain = estimate_of(found), estimate_of(cell_without_zygotes(found))
        hits += known.low <= 1 <= known.high
        without += plain.low <= 1 <= plain.high
    assert hits >= 0.9 * 300 > 0.75 * 300 > without


def cell_without_zygotes(found: ArmSamples) -> ArmSamples:
    return ArmSamples(found.samples, found.rounds, found.begun)


KINDS = {
    "normal": lambda draw: draw.gauss(0, 0.05),
    "long tail": lambda draw: draw.expovariate(2.5),
    "two levels": lambda draw: draw.gauss(0, 0.03) + 0.6 * (draw.random() < 0.3),
}


@pytest.mark.parametrize("processes", [6, 7, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_of_six_processes_holds_for_any_distribution(kind: str, processes: int) -> None:
    draw, pace = random.Random(3), KINDS[kind]
    truth = statistics.median(pace(draw) for _ in range(50_000))
    hits = 0
    for _ in range(1_000):
        _, (low, high) = middle_of_processes([pace(draw) for _ in range(processes)])
        hits += low <= truth <= high
    assert hits / 1_000 >= 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_from_seven_processes_on_a_ratio_covers_the_interval_of_the_median(kind: str) -> None:
    draw, pace = random.Random(4), KINDS[kind]
    still = cell(*[1.0] * 7, noise=0.0, rounds=10)
    for seed in range(50):
        logs = [pace(draw) for _ in range(7)]
        ratio = log_ratio(cell(*map(math.exp, logs), noise=1e-9, seed=seed, rounds=10), still)
        low, high = middle_of_processes(logs)[1]
        assert (
            ratio.mean - ratio.half_width() <= low + 1e-6 and high - 1e-6 <= ratio.mean + ratio.half_width()
        )


def test_a_long_process_is_one_observation() -> None:
    short = cell(*[1.0 + 0.01 * i for i in range(5)], noise=0.001, rounds=10)
    samples = array("d", [2.0] * 500 + list(short.samples))
    starts = array("i", [500 + 10 * i for i in range(5)])
    found = estimate_of(ArmSamples(samples, array("i", range(len(samples))), starts))
    assert found.median == pytest.approx(1.025, rel=0.005)
    assert found.low == pytest.approx(1.0, abs=0.01) and found.high > 1.2


def test_two_differing_processes_give_their_span_and_no_prediction() -> None:
    found = cell(1e-3, 1.1e-3)
    known = estimate_of(found)
    assert known.low < 1e-3 and known.high > 1.1e-3
    said = doubt(found)
    assert said.code == "processes-differ"
    assert (
        said.message.startswith("2 processes had medians of ")
        and "another process may lie outside" in said.message
    )
    ratio = log_ratio(found, cell(1e-3, 1e-3, seed=3))
    assert ratio.mean - ratio.half_width() < 0.005 and ratio.mean + ratio.half_width() > 0.09
    alike = cell(1e-3, 1.0005e-3)
    assert estimate_of(alike) == estimate(alike.samples) and doubt(alike) is None


def test_three_differing_processes_are_reported() -> None:
    said = doubt(cell(87e-6, 99e-6, 104e-6, noise=0.002))
    assert said.message.startswith("3 processes had medians of 87") and said.message.endswith("% apart")


def test_a_process_with_few_rounds_does_not_count_yet() -> None:
    found = cell(1e-3)
    found.samples.extend([2e-3] * 3)
    found.rounds.extend(range(ROUNDS, ROUNDS + 3))
    found.begun.append(ROUNDS)
    assert estimate_of(found) == estimate(found.samples) and doubt(found) is None


def again(state: RunState, worker: int) -> e.RunStarted:
    return started("r", *(arm.arm for arm in state.arms.values()), scenario=state.scenario, worker=worker)


def published(*scales: float) -> RunState:
    state = begun([GRAPH, XLA])
    for worker, scale in enumerate(scales):
        if worker:
            state.apply(again(state, worker))
        measure(state, {GRAPH: 1e-3 * scale, XLA: 1.02e-3}, rounds=ROUNDS, seed=worker)
    return finish(state)


def test_a_run_claims_no_more_than_its_processes_show() -> None:
    state = published(1.0, 1.05, 0.95)
    assert [list(arm.cells[0].begun) for arm in state.arms.values()] == [[ROUNDS, 2 * ROUNDS]] * 2
    graph = state.arms[GRAPH.id]
    assert estimate_at(graph, 0).relative_half_width > 0.05
    assert not compare(state.arms[XLA.id], graph, 0).differs
    flags = {arm.id: [flag.code for flag in arm.flags] for arm in summarise(state).arms}
    assert flags == {GRAPH.id: ["processes-differ"], XLA.id: []}
    alone = published(1.0)
    assert compare(alone.arms[XLA.id], alone.arms[GRAPH.id], 0).differs


def test_ops_reported_by_several_processes_are_counted_once() -> None:
    state = begun([GRAPH])
    for worker in range(3):
        if worker:
            state.apply(again(state, worker))
        for op in ("RFFT", "Mul"):
            placed(state, GRAPH, e.Node(op, op, "CPU:0"))
        measure(state, {GRAPH: 1e-3})
    assert [node.op for node in state.arms[GRAPH.id].placement[0]] == ["RFFT", "Mul"]


def test_a_crossover_includes_the_variation_between_processes() -> None:
    draw = random.Random(11)
    sizes, hits, blind, trials = (4_096, 16_384, 65_536), 0, 0, 120
    for _ in range(trials):
        paces = [math.exp(draw.gauss(0, 0.03)) for _ in range(3)]
        a: dict[int, dict[int, float]] = {size: {} for size in sizes}
        b: dict[int, dict[int, float]] = {size: {} for size in sizes}
        for at in range(3 * ROUNDS):
            for size in sizes:
                # Power laws, for which interpolation is exact: they cross at 16,000.
                a[size][at] = paces[at // ROUNDS] * size / 16_000 * math.exp(draw.gauss(0, 0.01))
                b[size][at] = math.exp(draw.gauss(0, 0.01))
        known = crossover(a, b, Pair("a", "b"), (ROUNDS, 2 * ROUNDS))
        pooled = crossover(a, b, Pair("a", "b"))
        hits += known.ci95[0] <= 16_000 <= known.ci95[1]
        blind += pooled.ci95[0] <= 16_000 <= pooled.ci95[1]
    assert hits >= 0.9 * trials > blind, "the interval of one process cannot be that reliable"


@pytest.mark.parametrize(
    ("x", "df", "tail"),
    [(3.841459, 1, 0.05), (5.991465, 2, 0.05), (7.814728, 3, 0.05), (9.210340, 2, 0.01), (15.08627, 5, 0.01)],
)
def test_chi_squared_matches_the_table(x: float, df: int, tail: float) -> None:
    assert chi_squared_tail(x, df) == pytest.approx(tail, rel=1e-5)
    assert chi_squared_tail(0.0, df) == pytest.approx(1) and chi_squared_tail(1e6, df) == 0
