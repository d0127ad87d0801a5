import pytest

from tuilab.analysis.words import listed, on_axis, percent, short, size, size_interval, times
from tuilab.model.quantity import plural


@pytest.mark.parametrize(
    ("ratio", "half", "text"),
    [(1.2711, None, "1.27×"), (1.02, 0.5, "1.02×"), (9.43, 2.0, "9.4×"), (1234.5, None, "1,230×")],
)
def test_times_are_formatted(ratio: float, half: float | None, text: str) -> None:
    assert times(ratio, half) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.7149, "71%"), (0.034, "3.4%"), (0.0, "0%"), (1.0, "100%"), (2e-4, "<0.1%")]
)
def test_percentages_are_formatted(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (65_536, None, "65,536"),
        (262_144, None, "256k"),
        (16_777_216, None, "16M"),
        (18_234.2, 3_500, "18 k"),
        (345.2, 50, "350"),
        (2.5, 0.5, "2.5"),
    ],
)
def test_sizes_are_formatted(value: float, half: float | None, text: str) -> None:
    assert size(value, half) == text


def test_values_on_an_axis_are_formatted() -> None:
    assert size_interval(15_100, 22_000) == "[15 k 22 k]"
    assert size_interval(32_040, 39_020) == "[32.0 k 39.0 k]"
    assert on_axis("samples", "18 k", "[15 k 22 k]") == "18 k samples [15 k 22 k]"
    assert on_axis("frame_length", "512") == "frame length 512"


def test_lists_and_plurals_are_formatted() -> None:
    assert [listed(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert (plural(1, "op"), plural(1_080, "op")) == ("1 op", "1,080 ops")


def test_a_long_reason_ends_with_a_whole_word() -> None:
    assert short("It failed. " + "because " * 40).endswith("because because […]")
    assert short("It failed.") == "It failed" and short("x" * 300).endswith("xx […]")
