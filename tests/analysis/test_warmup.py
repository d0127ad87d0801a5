import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.worker.measure.warmup import agree, steady


def is_steady(samples: list[float]) -> bool:
    return steady(samples, visit_s=0.0, limit_s=1.0)


def test_steady_samples_are_warm_and_falling_samples_are_not() -> None:
    draw = random.Random(1)
    level = [draw.gauss(1, 0.01) for _ in range(40)]
    falling = [1 + 2 * 0.9**i + draw.gauss(0, 0.01) for i in range(40)]
    assert is_steady(level)
    assert not is_steady(falling)
    assert is_steady(falling[-8:] + level)


def test_too_few_samples_are_never_warm() -> None:
    assert not is_steady([])
    assert not is_steady([1.0] * 7)
    assert is_steady([1.0] * 8)


@pytest.mark.parametrize(("factor", "agrees"), [(1.04, True), (0.96, True), (1.07, False), (0.9, False)])
def test_quartiles_may_differ_by_five_per_cent(factor: float, agrees: bool) -> None:
    later = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    assert agree([s * factor for s in later], later) is agrees


def test_the_mean_may_differ_by_ten_per_cent_if_the_quartiles_agree() -> None:
    later = [1.0] * 12
    assert agree([1.0] * 11 + [2.0], later)
    assert not agree([1.0] * 11 + [2.5], later)


def test_zeros_do_not_divide() -> None:
    assert agree([0.0] * 4, [0.0] * 4)
    assert not agree([1.0] * 4, [0.0] * 4)


@given(st.lists(st.floats(1e-6, 1e3), min_size=8, max_size=40), st.integers(-7, 7))
def test_the_unit_does_not_matter(samples: list[float], power: int) -> None:
    """Powers of two, because scaling by them rounds no sample."""
    half, scaled = len(samples) // 2, [s * 2.0**power for s in samples]
    assert agree(scaled[:half], scaled[half:]) is agree(samples[:half], samples[half:])
