import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.analysis.statistics import estimate, rank_autocorrelation, rank_of_low_end, ranks, widening

timings = st.lists(st.floats(1e-7, 1e3), min_size=1, max_size=80)


def test_without_samples_there_is_no_estimate() -> None:
    assert estimate([]) is None
    assert estimate([math.nan, math.inf]) is None


def test_one_sample_is_its_own_median_without_an_interval() -> None:
    one = estimate([0.5])
    assert (one.median, one.n) == (0.5, 1)
    assert one.interval is one.half_width is one.relative_half_width is None


def test_an_interval_needs_six_samples() -> None:
    five, six = estimate([1, 2, 3, 4, 5]), estimate([3, 1, 6, 2, 5, 4])
    assert five is not None and five.interval is None
    assert 1 <= six.low < six.median == 3.5 < six.high <= 6


def test_identical_samples_have_an_interval_of_zero_width() -> None:
    same = estimate([0.1] * 30)
    assert same.interval == (0.1, 0.1)
    assert same.relative_half_width == 0
    assert same.rho == 0


def test_zeros_have_no_relative_width() -> None:
    zeros = estimate([0.0] * 30)
    assert zeros is not None and zeros.median == 0
    assert zeros.relative_half_width is None


def test_samples_that_are_not_finite_are_left_out() -> None:
    assert estimate([1, math.nan, 2, math.inf, 3]) == estimate([1, 2, 3])


@pytest.mark.parametrize(("n", "k"), [(6, 1), (8, 1), (9, 2), (20, 6), (50, 18), (100, 40)])
def test_the_rank_is_just_above_the_textbook_order_statistic(n: int, k: int) -> None:
    # Conover, table A3: the largest k for which [x(k), x(n+1-k)] contains the median with 95% probability.
    rank = rank_of_low_end(n)
    assert k <= rank < k + 1


def test_the_normal_approximation_continues_the_exact_ranks() -> None:
    exact, approximate = rank_of_low_end(1_000), rank_of_low_end(1_001)
    assert exact is not None and approximate is not None
    assert abs(approximate - exact - 0.5) < 0.1


@given(timings, st.floats(1e-3, 1e3))
def test_a_change_of_unit_only_scales_the_figures(samples: list[float], factor: float) -> None:
    one, other = estimate(samples), estimate([s * factor for s in samples])
    assert other.median == pytest.approx(one.median * factor)
    unmerged = len({s * factor for s in samples}) == len(set(samples))
    if one.interval is not None and unmerged:
        assert other.low == pytest.approx(one.low * factor)
        assert other.high == pytest.approx(one.high * factor)


@given(timings)
def test_nothing_is_ever_nan_and_the_interval_holds_the_median(samples: list[float]) -> None:
    found = estimate(samples)
    assert all(math.isfinite(v) for v in (found.median, found.rho, found.low or 0, found.high or 0))
    assert min(samples) <= found.median <= max(samples)
    if found.low is not None and found.high is not None:
        assert min(samples) <= found.low <= found.median <= found.high <= max(samples)


@given(timings, st.randoms())
def test_the_median_does_not_depend_on_order(samples: list[float], shuffler: random.Random) -> None:
    shuffled = list(samples)
    shuffler.shuffle(shuffled)
    one, other, back = estimate(samples), estimate(shuffled), estimate(samples[::-1])
    assert one.median == other.median
    assert back.rho == pytest.approx(one.rho)


def test_correlated_samples_widen_the_interval() -> None:
    draw = random.Random(4)
    free = [draw.gauss(1, 0.05) for _ in range(200)]
    tied, level = [], 0.0
    for _ in range(200):
        level = 0.7 * level + draw.gauss(0, 0.05) * math.sqrt(1 - 0.49)
        tied.append(1 + level)
    loose, tight = estimate(free), estimate(tied)
    assert loose.rho < 0.2 and tight.rho == pytest.approx(0.7, abs=0.15)
    assert tight.half_width > 1.6 * loose.half_width


def test_samples_that_only_rise_have_no_interval() -> None:
    climbing = estimate([1 + i / 100 for i in range(30)])
    assert climbing is not None and climbing.rho > 0.8
    assert climbing.interval is None


def test_a_million_samples() -> None:
    import numpy as np

    samples = np.random.default_rng(3).lognormal(0, 0.05, 1_000_000).tolist()
    found = estimate(samples)
    assert found is not None and found.n == 1_000_000
    assert found.relative_half_width is not None and found.relative_half_width < 2e-4
    assert abs(found.median - 1) < 3e-4


def test_ties_share_their_rank() -> None:
    assert ranks([5.0, 1.0, 5.0, 2.0]) == [3.5, 1.0, 3.5, 2.0]


def test_alternating_samples_do_not_narrow_the_interval() -> None:
    rho = rank_autocorrelation([1.0, 2.0] * 10)
    assert rho == -1.0
    assert widening(rho) == 1.0
    assert widening(0.6) == 2.0
    assert rank_autocorrelation([1.0, 2.0, 3.0]) == 0.0
