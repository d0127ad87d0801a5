"""In seeded simulations, intervals contain the true value as often as their confidence level promises."""

import numpy as np
import pytest

from tuilab.worker.selftest.simulation import (
    CostLine,
    Coverage,
    TwoLines,
    crossover_coverage,
    differences,
    median_coverage,
    noise,
    ratio_coverage,
    sweep,
)


@pytest.mark.parametrize(("n", "rho"), [(20, 0.0), (60, 0.0), (60, 0.4), (200, 0.6)])
def test_the_interval_of_the_median_has_its_coverage(n: int, rho: float) -> None:
    assert median_coverage(1_000, n, rho).within_limits


@pytest.mark.parametrize(("n", "rho"), [(40, 0.0), (20, 0.2), (40, 0.4), (200, 0.4)])
def test_the_interval_of_the_ratio_has_its_coverage(n: int, rho: float) -> None:
    assert ratio_coverage(1_000, n, rho=rho).within_limits


def test_equal_arms_differ_in_at_most_one_of_twenty_and_slowdowns_are_found() -> None:
    assert differences(1_000).share <= 0.05
    assert differences(1_000, truth=1.05).share >= 0.9


@pytest.mark.parametrize("spread", [0.03, 0.1])
def test_the_interval_of_a_crossover_has_its_coverage(spread: float) -> None:
    assert crossover_coverage(300, spread).within_limits


def test_without_bisection_the_interval_is_wide_rather_than_wrong() -> None:
    assert crossover_coverage(100, 0.005, refine=0).share >= 0.95


def test_bisection_narrows_the_interval_that_the_grid_leaves() -> None:
    from tuilab.analysis.crossover import crossings, places

    lines = TwoLines(CostLine(1e-3, 1e-9), CostLine(1e-4, 1e-7), 0.001, 20, np.random.default_rng(1))
    coarse, fine = (crossings(places(*sweep(lines, refine)))[0] for refine in (0, 6))
    assert lines.crossing == pytest.approx(9_090.9, rel=1e-3)
    assert fine.half_width < 0.5 * coarse.half_width


def test_the_simulated_noise_has_its_stated_properties() -> None:
    made = noise(np.random.default_rng(1), 400, 200, 0.03, 0.6)
    assert made.std() == pytest.approx(0.03, rel=0.03)
    assert np.mean(made[:, 1:] * made[:, :-1]) / made.var() == pytest.approx(0.6, abs=0.03)


def test_a_coverage_is_checked_against_its_limits() -> None:
    assert Coverage(950, 1_000).within_limits
    assert not Coverage(920, 1_000).within_limits
    assert not Coverage(980, 1_000).within_limits
