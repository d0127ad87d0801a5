import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tuilab.analysis.crossover import SizeRatio, _straight_lines, crossings, places, signs
from tuilab.analysis.statistics import Location


def place(size: int, mean: float, error: float = 0.001, n: int = 20) -> SizeRatio:
    return SizeRatio(size, Location(mean, error, n - 1, n))


def test_a_power_law_is_interpolated_exactly() -> None:
    # The log ratio is log(1000 / x), which is zero at 1,000.
    found = crossings([place(x, math.log(1_000 / x)) for x in (64, 512, 4_096)])
    assert len(found) == 1
    assert found[0].at == pytest.approx(1_000)
    assert (found[0].below, found[0].above, found[0].overtakes) == (512, 4_096, True)
    assert found[0].low < 1_000 < found[0].high


def test_a_crossing_in_the_other_direction_is_by_b() -> None:
    found = crossings([place(64, -1), place(512, 1)])
    assert [c.overtakes for c in found] == [False]


def test_a_change_of_sign_within_the_noise_is_not_a_crossing() -> None:
    assert crossings([place(64, 0.01, 0.1), place(512, -0.01, 0.1)]) == []
    assert crossings([place(64, 1.0), place(512, -0.01, 0.1)]) == []


def test_an_undecided_place_leaves_the_bracket_wide() -> None:
    sharp = crossings([place(64, 1), place(256, 0.0, 0.001), place(1_024, -1)])
    vague = crossings([place(64, 1), place(256, 0.0, 0.3), place(1_024, -1)])
    assert sharp[0].at == vague[0].at == pytest.approx(256)
    assert vague[0].half_width > 5 * sharp[0].half_width
    assert (vague[0].below, vague[0].above) == (256, 1_024)


def test_several_changes_are_several_crossings() -> None:
    found = crossings(
        [place(4, 1), place(16, -1), place(32, -1), place(64, 1), place(128, 1), place(256, -1)]
    )
    assert [c.overtakes for c in found] == [True, False, True]
    assert [c.at for c in found] == sorted(c.at for c in found)


def test_a_lead_at_one_isolated_size_is_not_a_crossing() -> None:
    assert crossings([place(4, 1), place(16, -1), place(64, 1)]) == []
    assert [c.overtakes for c in crossings([place(4, 1), place(16, -1), place(64, -1)])] == [True]


def test_with_more_sizes_each_needs_stronger_evidence() -> None:
    # 2.5 standard errors from 0 are enough for a single size, but not for one of twenty sizes.
    assert signs([place(1, 0.025, 0.01)]) == [1]
    assert signs([place(x, 0.025, 0.01) for x in range(1, 21)]) == [0] * 20


def test_places_need_both_arms() -> None:
    a = {8: {0: 1.0, 1: 1.0}, 16: {0: 1.0}, 32: {}}
    b = {16: {0: 2.0}, 32: {0: 1.0}, 64: {0: 1.0}}
    found = places(a, b)
    assert [p.size for p in found] == [16]
    assert math.isinf(found[0].error)
    assert signs(found) == [0]


share = st.floats(0, 1)


@given(share, share, st.floats(1.01, 50), st.floats(1.01, 50))
def test_two_lines_cross_within_the_bounds_set_by_two_ratios(
    p: float, q: float, below: float, above: float
) -> None:
    # Both arms cost 1 at size 10,000. The shares p and q of that cost grow with the size.
    assume(abs(p - q) > 1e-3)
    low, high = int(10_000 / below), math.ceil(10_000 * above)
    ratios = [math.log((1 - p + p * x / 10_000) / (1 - q + q * x / 10_000)) for x in (low, high)]
    ends = sorted(_straight_lines(place(low, ratios[0]), place(high, ratios[1])))
    assert ends[0] * (1 - 1e-6) <= 10_000 <= ends[1] * (1 + 1e-6)


@given(
    st.lists(
        st.tuples(st.floats(-5, 5), st.floats(0, 2), st.integers(2, 60)), min_size=1, max_size=12, unique=True
    )
)
def test_every_crossing_is_in_its_interval_and_bracket(rows: list[tuple[float, float, int]]) -> None:
    at = [place(4**i, mean, error, n) for i, (mean, error, n) in enumerate(rows)]
    for found in crossings(at):
        values = (found.at, found.low, found.high, found.curvature)
        assert all(math.isfinite(v) for v in values)
        assert 1 <= found.low <= found.at <= found.high <= at[-1].size * (1 + 1e-9)
        assert found.below <= found.at * (1 + 1e-9) and found.at <= found.above * (1 + 1e-9)
        assert found.half_width >= 0


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_swapping_the_arms_keeps_the_size(points: int, seed: int) -> None:
    draw = random.Random(seed)
    a = {4**i: {r: draw.uniform(0.5, 2) for r in range(10)} for i in range(points)}
    b = {4**i: {r: draw.uniform(0.5, 2) for r in range(10)} for i in range(points)}
    one, other = crossings(places(a, b)), crossings(places(b, a))
    assert [c.at for c in other] == pytest.approx([c.at for c in one])
    assert [c.low for c in other] == pytest.approx([c.low for c in one])
    assert [c.overtakes for c in other] == [not c.overtakes for c in one]
