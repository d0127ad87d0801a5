import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.analysis.ratios import ratio
from tuilab.analysis.statistics import locate

by_round = st.dictionaries(st.integers(0, 60), st.floats(1e-7, 1e3), max_size=40)


def rounds(samples: list[float]) -> dict[int, float]:
    return dict(enumerate(samples))


def test_without_a_common_round_there_is_no_ratio() -> None:
    assert ratio({}, {}) is None
    assert ratio({0: 1.0}, {1: 1.0}) is None
    assert ratio({0: 0.0}, {0: 1.0}) is None


def test_one_round_gives_a_ratio_without_an_interval() -> None:
    one = ratio({3: 1.0}, {3: 2.0})
    assert (one.ratio, one.interval, one.n, one.differs) == (0.5, None, 1, False)


def test_pairing_removes_what_both_arms_share() -> None:
    draw = random.Random(5)
    b = [draw.uniform(1, 3) for _ in range(20)]
    a = [x * 1.05 * draw.uniform(0.999, 1.001) for x in b]
    found = ratio(rounds(a), rounds(b))
    assert found is not None and found.differs
    assert found.ratio == pytest.approx(1.05, abs=1e-3)
    assert found.low is not None and found.low > 1.049


def test_five_values_match_the_textbook() -> None:
    # exp(mean ± t(4) s / √5) of the logs 0.1 … 0.5: mean 0.3, s 0.15811, t 2.7764.
    found = ratio({i: math.exp((i + 1) / 10) for i in range(5)}, dict.fromkeys(range(5), 1.0))
    assert found.ratio == pytest.approx(math.exp(0.3))
    assert found.low == pytest.approx(math.exp(0.3 - 2.7764 * 0.158114 / math.sqrt(5)), rel=1e-4)


def test_a_spike_does_not_hide_a_slowdown() -> None:
    draw = random.Random(6)
    logs = [0.05 + draw.gauss(0, 0.02) for _ in range(20)]
    logs[7] += 1.5
    mean = math.fsum(logs) / 20
    spread = math.sqrt(sum((x - mean) ** 2 for x in logs) / 19)
    assert mean - 2.093 * spread / math.sqrt(20) < 0  # the plain t interval contains 1
    found = ratio(rounds([math.exp(x) for x in logs]), dict.fromkeys(range(20), 1.0))
    assert found is not None and found.low is not None and found.low > 1


def test_correlated_rounds_widen_the_interval() -> None:
    draw = random.Random(7)
    logs, level = [], 0.0
    for _ in range(100):
        level = 0.8 * level + draw.gauss(0, 0.03)
        logs.append(level)
    found = locate(logs)
    shuffled = list(logs)
    draw.shuffle(shuffled)
    free = locate(shuffled)
    assert found.error > 2 * free.error
    assert found.df < free.df


@given(by_round, by_round)
def test_swapping_the_arms_inverts_the_ratio(a: dict[int, float], b: dict[int, float]) -> None:
    one, other = ratio(a, b), ratio(b, a)
    if one is None or other is None:
        assert one is other is None
        return
    assert one.ratio * other.ratio == pytest.approx(1, rel=1e-6)
    assert math.isfinite(one.ratio)
    if one.low is not None and one.high is not None and other.high is not None:
        assert 0 < one.low <= one.ratio * (1 + 1e-9) and one.ratio <= one.high * (1 + 1e-9)
        assert one.low * other.high == pytest.approx(1, rel=1e-3)


@given(by_round, st.floats(1e-2, 1e2))
def test_a_constant_factor_is_found_exactly(a: dict[int, float], factor: float) -> None:
    found = ratio({i: s * factor for i, s in a.items()}, a)
    if found is not None:
        assert found.ratio == pytest.approx(factor)


def test_the_stated_smallest_difference_is_found_in_nine_of_ten_runs() -> None:
    draw = random.Random(4)

    def made(shift: float) -> tuple[dict[int, float], dict[int, float]]:
        return (
            {i: math.exp(shift + draw.gauss(0, 0.04)) for i in range(20)},
            {i: math.exp(draw.gauss(0, 0.04)) for i in range(20)},
        )

    quiet = [ratio(*made(0.0)) for _ in range(200)]
    least = sorted(found.least for found in quiet if found is not None and found.least is not None)[100]
    seen = [ratio(*made(math.log1p(least))) for _ in range(400)]
    assert 0.82 < sum(found is not None and found.is_slower for found in seen) / 400 < 0.96
    assert ratio({0: 1.0}, {0: 1.0}).least is None  # type: ignore[union-attr]
