"""Published times of whole workloads on real GPUs are above their bounds, and so are the times of our own
functions on a real H100.
"""

import pytest

from tests.benchmarks.on_h100 import GRAPHS, rows
from tests.benchmarks.published import PUBLISHED, Published, bound_of
from tuilab.model.datasheets import EXPECTED


@pytest.mark.long
@pytest.mark.timeout(600)
def test_published_times_are_one_to_twenty_times_their_bounds() -> None:
    factors = {row.name: row.took_s / bound_of(row).seconds for row in PUBLISHED}
    assert all(1 < factor < 20 for factor in factors.values()), factors
    assert EXPECTED.kernels == pytest.approx((min(factors.values()), max(factors.values())), rel=0.05)


@pytest.mark.parametrize("row", [row for row in PUBLISHED if row.name == "BERT-large, 384 tokens, batch 1"])
def test_a_published_time_is_above_its_bound(row: Published) -> None:
    assert 1 < row.took_s / bound_of(row).seconds < 20


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("patches", "ragged_mean", "ctc", "components"), id="four"),
        pytest.param(tuple(each.name for each in GRAPHS), marks=pytest.mark.long, id="every"),
    ],
)
def test_functions_on_an_h100_take_longer_than_their_bounds(names: tuple[str, ...]) -> None:
    found = list(rows([each for each in GRAPHS if each.name in names]))
    assert len(found) >= len(names) - 1  # one function could not be copied to the GPU
    assert all(factor > 1 for row in found for factor in row.factors().values())
