"""Samples that alternate between two levels are distinguished from noisy samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.analysis.caveats import levels, two_levels

SIZES = (30, 60, 150, 600)
NOISE = {
    "normal": lambda draw, n: 1 + 0.1 * draw.normal(size=n).clip(-5, 5),
    "evenly spread": lambda draw, n: 1 + draw.uniform(0, 0.5, size=n),
    "skewed": lambda draw, n: 1 + 0.3 * draw.exponential(size=n),
    "heavy-tailed": lambda draw, n: 1 + 0.05 * draw.pareto(1.5, size=n),
    "drifting": lambda draw, n: 1 + 0.3 * np.arange(n) / n + 0.01 * draw.normal(size=n),
    "settling": lambda draw, n: 1 + 0.5 * np.exp(-np.arange(n) * 5 / n) + 0.01 * draw.normal(size=n),
}


def two(draw: np.random.Generator, n: int, share: float, step: float, noise: float) -> np.ndarray:
    return np.where(draw.random(n) < share, 1 + step, 1.0) * np.exp(noise * draw.normal(size=n))


def test_two_paces_are_named_with_their_shares() -> None:
    found = levels([87e-6, 87.1e-6, 86.9e-6] * 20 + [105e-6, 105.2e-6] * 20)
    assert found is not None and found.code == "two-levels"
    assert "60% of the samples at 87" in found.message and "40% at 105" in found.message


@pytest.mark.parametrize("kind", NOISE)
def test_noise_of_any_distribution_has_one_level(kind: str) -> None:
    draw = np.random.default_rng(7)
    found = sum(two_levels(NOISE[kind](draw, n)) is not None for n in SIZES for _ in range(250))
    assert found <= 5, "more than 1 in 200"


@pytest.mark.parametrize(("share", "step", "noise"), [(0.4, 0.1, 0.01), (0.3, 0.25, 0.02), (0.5, 1.0, 0.08)])
def test_two_levels_are_found_nearly_always(share: float, step: float, noise: float) -> None:
    draw = np.random.default_rng(7)
    found = [two_levels(two(draw, 60, share, step, noise)) for _ in range(200)]
    assert sum(f is not None for f in found) >= 190
    middle = np.median([(f.low_s, f.high_s, f.high_share) for f in found if f], axis=0)
    assert middle == pytest.approx((1, 1 + step, share), rel=0.1)


def test_a_small_step_or_few_samples_or_outliers_make_no_second_level() -> None:
    assert two_levels([1.0] * 40 + [1.04] * 40) is None
    assert two_levels([1.0] * 12 + [2.0] * 12) is None
    assert two_levels([1.0, 1.001] * 40 + [3.0] * 8) is None
    assert two_levels([]) is None and two_levels([0.5] * 100) is None
    assert two_levels([float("nan"), float("inf"), 0.0, -1.0] * 30) is None


@given(st.lists(st.floats(1e-9, 1e3), max_size=80), st.randoms())
def test_order_does_not_matter(samples: list[float], shuffler) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(samples)
    shuffler.shuffle(shuffled)
    assert two_levels(shuffled) == two_levels(samples)
