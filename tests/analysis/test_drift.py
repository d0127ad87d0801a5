import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.analysis.caveats import drift, trend_p
from tuilab.worker.selftest.simulation import noise


def test_a_steady_climb_is_named_with_its_size() -> None:
    draw = random.Random(1)
    found = drift([1 + 0.05 * i / 99 + draw.gauss(0, 0.005) for i in range(100)])
    assert found is not None and found.code == "drift"
    assert found.message.startswith(("slowed down by 4.", "slowed down by 5"))
    assert found.message.endswith("% while it was measured (p < 0.001)")


def test_a_falling_trend_is_reported_as_faster() -> None:
    found = drift([1 - i / 1_000 for i in range(50)])
    assert found is not None and found.message.startswith("sped up by ")


def test_small_or_uncertain_movements_are_not_drift() -> None:
    draw = random.Random(1)
    assert drift([1 + 0.015 * i / 99 for i in range(100)]) is None
    assert drift([1 + 0.03 * i / 19 + draw.gauss(0, 0.1) for i in range(20)]) is None


def test_few_identical_or_zero_samples_show_none() -> None:
    assert drift([]) is None
    assert drift([1.0, 2.0, 3.0]) is None
    assert drift([1.0] * 50) is None
    assert drift([0.0] * 50) is None


def test_one_spike_is_not_drift() -> None:
    assert drift([1.0] * 99 + [50.0]) is None


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_false_alarms_are_rare_even_for_correlated_samples(rho: float) -> None:
    rows = np.exp(noise(np.random.default_rng(1), 300, 60, 0.1, rho)).tolist()
    assert sum(drift(row) is not None for row in rows) <= 12


def test_a_million_samples() -> None:
    rng = np.random.default_rng(2)
    steady = 1 + 0.1 * rng.standard_normal(1_000_000)
    assert drift(steady.tolist()) is None
    assert drift((steady + np.linspace(0, 0.03, len(steady))).tolist()) is not None


def test_mann_kendall_against_a_worked_example() -> None:
    # 1 … 10 in order: S = 45, variance 10 · 9 · 25 / 18 = 125, z = 44 / √125 = 3.935.
    values = np.arange(10.0)
    steps = np.array([values[j] - values[i] for i, j in combinations(range(10), 2)])
    assert trend_p(steps, values, 0.0) == pytest.approx(8.3e-5, rel=0.01)
    assert trend_p(steps, values, 0.6) > trend_p(steps, values, 0.0)


@given(st.lists(st.floats(1e-6, 1e3), max_size=60), st.sampled_from([1e-3, 2.0, 1e3]))
def test_drift_ignores_the_unit_and_reverses_with_time(samples: list[float], factor: float) -> None:
    one, back = drift(samples), drift(samples[::-1])
    assert (one is None) == (back is None) == (drift([s * factor for s in samples]) is None)
    if one is not None and back is not None:
        assert ("slowed" in one.message) != ("slowed" in back.message)
