import math

import pytest

from tuilab.analysis.statistics import cdf, t_quantile

# Two-sided 95% and 99% points from Abramowitz & Stegun, table 26.10.
TABLE = [(1, 12.706, 63.657), (2, 4.303, 9.925), (5, 2.571, 4.032), (10, 2.228, 3.169), (30, 2.042, 2.750)]


@pytest.mark.parametrize(("df", "p975", "p995"), [*TABLE, (120, 1.980, 2.617)])
def test_quantiles_match_the_table(df: int, p975: float, p995: float) -> None:
    assert t_quantile(0.975, df) == pytest.approx(p975, abs=6e-4)
    assert t_quantile(0.995, df) == pytest.approx(p995, abs=6e-4)


def test_the_expansion_continues_the_exact_form() -> None:
    for p in (0.9, 0.975, 0.995, 0.9999):
        exact, expanded = t_quantile(p, 40), t_quantile(p, 41)
        assert expanded < exact
        assert exact - expanded < 2e-2
        assert cdf(expanded, 41) == pytest.approx(p, abs=1e-8)


def test_quantiles_are_symmetric_and_finite_at_the_extremes() -> None:
    assert t_quantile(0.025, 7) == -t_quantile(0.975, 7)
    assert t_quantile(0.5, 3) == pytest.approx(0, abs=1e-9)
    assert math.isfinite(t_quantile(1 - 1e-9, 1))


@pytest.mark.parametrize(("p", "df"), [(0.0, 3), (1.0, 3), (0.5, 0)])
def test_invalid_arguments_of_a_quantile_are_refused(p: float, df: int) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(p, df)
