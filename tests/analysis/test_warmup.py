import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.worker.measure.warmup import agreement, settled


def test_steady_samples_are_warm_and_falling_samples_are_not() -> None:
    draw = random.Random(1)
    steady = [draw.gauss(1, 0.01) for _ in range(40)]
    falling = [1 + 2 * 0.9**i + draw.gauss(0, 0.01) for i in range(40)]
    assert settled(steady)
    assert not settled(falling)
    assert settled(falling[-8:] + steady, window=10)


def test_too_few_samples_are_never_warm() -> None:
    assert not settled([])
    assert not settled([1.0] * 7)
    assert settled([1.0] * 8)
    assert not settled([1.0] * 19, window=10)
    with pytest.raises(ValueError, match="a window needs 4 samples, not 3"):
        agreement([1, 1, 1], [1, 1, 1, 1])


@pytest.mark.parametrize(("factor", "agrees"), [(1.04, True), (0.96, True), (1.07, False), (0.9, False)])
def test_quartiles_may_differ_by_five_per_cent(factor: float, agrees: bool) -> None:
    later = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    assert agreement([s * factor for s in later], later).agrees is agrees


def test_the_mean_may_differ_by_ten_per_cent_if_the_quartiles_agree() -> None:
    later = [1.0] * 12
    assert agreement([1.0] * 11 + [2.0], later).agrees
    assert not agreement([1.0] * 11 + [2.5], later).agrees


def test_zeros_do_not_divide() -> None:
    assert agreement([0.0] * 4, [0.0] * 4).agrees
    assert not agreement([1.0] * 4, [0.0] * 4).agrees


@given(st.lists(st.floats(1e-6, 1e3), min_size=8, max_size=40), st.floats(0.01, 100))
def test_the_unit_does_not_matter(samples: list[float], factor: float) -> None:
    half = len(samples) // 2
    one = agreement(samples[:half], samples[half:])
    other = agreement([s * factor for s in samples[:half]], [s * factor for s in samples[half:]])
    assert other.mean == pytest.approx(one.mean, rel=1e-6, abs=1e-9)
    assert other.third_quartile == pytest.approx(one.third_quartile, rel=1e-6, abs=1e-9)
