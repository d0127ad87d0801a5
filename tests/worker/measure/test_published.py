"""Published timings of whole workloads on real GPUs are above their bounds, and not far above."""

import pytest

from tests.benchmarks.published import PUBLISHED, Published, bound_of
from tuilab.model.datasheets import EXPECTED


@pytest.mark.long
@pytest.mark.timeout(600)
def test_published_times_lie_above_their_bounds_and_within_twenty_times() -> None:
    factors = {row.name: row.took_s / bound_of(row).seconds for row in PUBLISHED}
    assert all(1 < factor < 20 for factor in factors.values()), factors
    assert EXPECTED.kernels == pytest.approx((min(factors.values()), max(factors.values())), rel=0.05)


@pytest.mark.parametrize("row", [row for row in PUBLISHED if row.name == "BERT-large, 384 tokens, batch 1"])
def test_a_published_time_lies_above_its_bound(row: Published) -> None:
    assert 1 < row.took_s / bound_of(row).seconds < 20
