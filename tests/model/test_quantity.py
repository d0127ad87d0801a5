import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.model.quantity import (
    count,
    digits_for,
    interval,
    parse_integer,
    prefixed,
    rate,
    rough,
    seconds,
    significant,
    size,
)


@pytest.mark.parametrize(
    ("text", "binary", "value"),
    [
        ("64k", True, 65_536),
        ("64k", False, 64_000),
        ("64Ki", False, 65_536),
        ("1.5M", False, 1_500_000),
        ("3Mi", False, 3_145_728),
        ("2g", False, 2_000_000_000),
        ("2Gi", False, 2_147_483_648),
        ("65_536", True, 65_536),
        ("65,536", True, 65_536),
        (" 16 M ", True, 16_777_216),
    ],
)
def test_typed_numbers_are_parsed(text, binary, value):
    assert parse_integer(text, binary=binary) == value


@pytest.mark.parametrize(
    "text", ["", "k", "-5", "1.5", "1e3", "64kk", "٣", "0x10", "nan", "1" + "0" * 400 + ".5"]
)
def test_anything_but_a_whole_number_is_refused(text):
    with pytest.raises(ValueError):
        parse_integer(text)


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (0.000483, 0.000015, "483 µs"),
        (0.000483, 0.0001, "480 µs"),
        (1.234567, 0.0004, "1.235 s"),
        (5e-9, None, "5.00 ns"),
    ],
)
def test_digits_follow_the_interval(value, half, text):
    assert seconds(value, half) == text


@given(st.floats(1e-9, 1e4), st.floats(1e-6, 1.0))
def test_the_printed_value_is_within_the_interval(value, relative):
    digits = digits_for(value, value * relative)
    shown = float(significant(value, digits).replace(",", ""))
    assert abs(shown - value) <= max(value * relative, value * 10 ** (1 - digits))


def test_an_interval_reads_in_the_unit_of_its_median():
    assert interval(0.00047, 0.0005, like=0.00048) == "[470 500]"


def test_counts_and_sizes_are_formatted():
    assert [count(10_240), count(262_144), count(16_777_216)] == ["10,240", "262 k", "16.8 M"]
    assert [size(1024), size(400e6), size(12)] == ["1.02 kB", "400 MB", "12 B"]


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (seconds(0.9996e-3, 82e-6), "1.00 ms"),
        (seconds(999.7e-9), "1.00 µs"),
        (count(999_600), "1.00 M"),
        (size(999.6), "1.00 kB"),
        (rate(999.9e9, "FLOP/s"), "1.00 TFLOP/s"),
    ],
)
def test_the_unit_is_chosen_after_rounding(shown, text):
    assert shown == text


@given(st.floats(1e-9, 999.9), st.floats(1e-6, 1.0), st.floats(1.0, 999e15))
def test_no_figure_is_shown_as_a_thousand_of_a_smaller_unit(time, relative, amount):
    for text in (
        seconds(time, time * relative),
        seconds(time),
        size(amount),
        rate(amount, "B/s"),
        prefixed(amount),
    ):
        number, _, unit = text.partition(" ")
        assert float(number.replace(",", "")) < 1_000 or unit == "s", text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.2, "1 s"), (99, "99 s"), (100, "2 min"), (5_969, "99 min"), (5_970, "2 h"), (36_000, "10 h")],
)
def test_rough_durations_have_one_unit(value, text):
    assert rough(value) == text
