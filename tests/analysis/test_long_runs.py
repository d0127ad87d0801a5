"""A long run's figures, which are computed with arrays, equal figures computed one by one."""

import math
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made import EAGER as A
from tests.made import GRAPH as B
from tests.made import folded, started
from tuilab.analysis import ratios, statistics
from tuilab.analysis.reading import compare, estimate_at, latency_at
from tuilab.analysis.statistics import locate
from tuilab.model.events import Block, Round
from tuilab.model.run import ArmState, RunState

odd = st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e-300, 1e300])
times = st.one_of(st.floats(1e-7, 1e3), st.sampled_from([1e-3, 2e-3]), odd)
cells = st.lists(st.tuples(st.booleans(), st.booleans(), times, times), max_size=60)


@contextmanager
def many(least: int) -> Iterator[None]:
    with patch.object(statistics, "LARGE", least), patch.object(ratios, "LARGE", least):
        yield


def run_of(rounds: list[tuple[bool, bool, float, float]]) -> RunState:
    """Return a run with two arms. rounds: for each round, whether it has the first and the second arm, and
    their seconds per call.
    """
    state = folded(started("r", A, B))
    for index, (has_a, has_b, a, b) in enumerate(rounds):
        blocks = [Block(A.id, 0, 1, a, b)] * has_a + [Block(B.id, 0, 1, b, a)] * has_b
        state.apply(Round(run="r", index=index, blocks=tuple(blocks), elapsed_s=0.1))
    return state


def figures(rounds: list[tuple[bool, bool, float, float]]) -> list[object]:
    state = run_of(rounds)
    a, b = (state.arms[arm.id] for arm in (A, B))
    return [estimate_at(a, 0), estimate_at(b, 0), latency_at(a, 0), compare(a, b, 0), compare(b, a, 0)]


def flat(figure: object) -> list[float | None]:
    names = getattr(figure, "__slots__", ())
    return [getattr(figure, name) for name in names] if names else [figure]  # type: ignore[list-item]


@given(cells)
def test_many_samples_give_the_same_figures_as_few(rounds: list[tuple[bool, bool, float, float]]) -> None:
    with many(10_000):
        plain = figures(rounds)
    with many(0):
        long = figures(rounds)
    for one, other in zip(plain, long, strict=True):
        assert flat(other) == pytest.approx(flat(one), rel=1e-9, abs=1e-15, nan_ok=True)
    assert [e and (e.median, e.n) for e in plain[:2]] == [e and (e.median, e.n) for e in long[:2]]  # type: ignore[attr-defined]


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=80))
def test_the_middle_of_many(samples: list[float]) -> None:
    with many(1_000):
        plain = locate(samples, rho=0.2)
    with many(1):
        long = locate(array("d", samples), rho=0.2)
    assert (long.n, long.df) == (plain.n, plain.df)
    assert long.mean == pytest.approx(plain.mean, rel=1e-9, abs=1e-12)
    assert long.error == pytest.approx(plain.error, rel=1e-6, abs=1e-12)


def test_samples_of_one_round_twice_count_once() -> None:
    rounds, samples = [0, 1, 1, 2], [1.0, 5.0, 2.0, 3.0]
    with many(0):
        found = ratios.aligned_log_ratios(rounds, samples, [1, 2, 3], [1.0, 1.0, 1.0])
    assert list(found) == pytest.approx([math.log(2), math.log(3)])


def test_the_median_ignores_values_that_are_not_finite() -> None:
    assert statistics.median(array("d", [math.nan])) is None
    assert statistics.median([3.0, math.inf, 1.0, 2.0]) == 2.0


def test_a_figure_is_cached_until_a_sample_arrives() -> None:
    state = run_of([(True, True, 1e-3, 2e-3)] * 20)
    asked: list[int] = []

    def counted(samples: "array[float]") -> object:
        asked.append(len(samples))
        return statistics._estimate(samples)

    a: ArmState = state.arms[A.id]
    with patch("tuilab.analysis.processes.estimate", counted):
        first = [estimate_at(a, 0) for _ in range(3)]
        state.apply(Round(run="r", index=20, blocks=(Block(A.id, 0, 1, 5e-3),), elapsed_s=1.0))
        second = [estimate_at(a, 0) for _ in range(3)]
    assert asked == [20, 21]
    assert first[0] is first[2] and second[0] is second[2] and first[0] != second[0]


def test_a_ratio_follows_both_of_its_arms() -> None:
    state = run_of([(True, True, 1e-3, 2e-3)] * 20)
    a, b = (state.arms[arm.id] for arm in (A, B))
    before = compare(a, b, 0)
    assert compare(a, b, 0) is before
    state.apply(Round(run="r", index=20, blocks=(Block(B.id, 0, 1, 2e-3),), elapsed_s=1.0))
    assert compare(a, b, 0) is not before
