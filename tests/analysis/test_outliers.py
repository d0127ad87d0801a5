from hypothesis import given
from hypothesis import strategies as st

from tuilab.analysis.caveats import count, outliers
from tuilab.model.found import Found


def test_outliers_are_counted_and_the_worst_is_named() -> None:
    found = outliers([1.0, 1.1, 1.2, 1.3] * 10 + [2.2, 11.5])
    assert found is not None
    assert found == Found(
        "outliers",
        "2 of 42 samples are outliers; the slowest took 9.58× the median",
    )


def test_a_sample_on_the_fence_is_not_an_outlier() -> None:
    # Quartiles of 0 … 8 are 2 and 6, so the fences are −10 and 18.
    assert count([*range(8), 18.0]) == 0
    assert count([0, 1, 2, 3, 4, 5, 6, 7, 18.001]) == 1
    assert count([-10.001, 1, 2, 3, 4, 5, 6, 7, 8]) == 1


def test_too_few_or_identical_samples_have_none() -> None:
    assert outliers([]) is None
    assert outliers([1, 1, 1, 99]) is None
    assert outliers([0.5] * 30) is None
    assert outliers([0.0] * 30) is None


def test_without_a_positive_median_no_multiple_is_named() -> None:
    assert outliers([0.0] * 10 + [1.0]) == Found("outliers", "1 of 11 samples is an outlier")


@given(st.lists(st.floats(1e-6, 1e3), max_size=60), st.randoms())
def test_order_does_not_matter(samples: list[float], shuffler) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(samples)
    shuffler.shuffle(shuffled)
    assert count(shuffled) == count(samples) <= len(samples) // 2
