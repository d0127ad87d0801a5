import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.analysis.phases import copy_cost

SIZES = [4**i for i in range(2, 15)]


def test_latency_and_bandwidth_are_recovered_over_decades() -> None:
    draw = random.Random(1)
    found = copy_cost(SIZES, [(20e-6 + x / 12e9) * draw.uniform(0.98, 1.02) for x in SIZES])
    assert found is not None and found.bytes_per_s is not None
    assert found.latency_s == pytest.approx(20e-6, rel=0.02)
    assert found.bytes_per_s == pytest.approx(12e9, rel=0.02)
    assert found.misfit < 0.02
    assert found.seconds(1_000_000) == pytest.approx(20e-6 + 1e6 / 12e9, rel=0.02)


def test_zero_cost_per_byte_and_zero_latency_are_recovered() -> None:
    flat = copy_cost([1, 100, 10_000], [3.0, 2.0, 1.0])
    assert flat is not None and flat.bytes_per_s is None and flat.latency_s > 0
    assert flat.seconds(1e9) == flat.latency_s
    bare = copy_cost([10, 100, 1_000], [1e-9, 1e-7, 1e-5])
    assert bare is not None and bare.latency_s == 0 and bare.bytes_per_s is not None


def test_a_curve_that_is_not_a_line_has_a_large_misfit() -> None:
    found = copy_cost(SIZES, [1e-9 * x**2 for x in SIZES])
    assert found is not None and found.misfit > 0.3


def test_one_size_gives_no_fit() -> None:
    assert copy_cost([], []) is None
    assert copy_cost([8, 8], [1.0, 2.0]) is None
    assert copy_cost([8, 16], [1.0, math.nan]) is None
    assert copy_cost([8, 16], [1.0, 0.0]) is None


@given(
    st.lists(st.tuples(st.integers(0, 10**12), st.floats(1e-9, 1e3)), min_size=2, max_size=20),
    st.sampled_from([1e-3, 1e3]),
)
def test_the_fit_is_finite_and_nonnegative_and_scales_with_the_unit(
    rows: list[tuple[int, float]], factor: float
) -> None:
    sizes, times = [x for x, _ in rows], [t for _, t in rows]
    one, other = copy_cost(sizes, times), copy_cost(sizes, [t * factor for t in times])
    assert (one is None) == (other is None)
    if one is None or other is None:
        return
    assert one.latency_s >= 0 and math.isfinite(one.latency_s) and math.isfinite(one.misfit)
    assert one.bytes_per_s is None or one.bytes_per_s > 0
    assert other.misfit == pytest.approx(one.misfit, abs=1e-6)
