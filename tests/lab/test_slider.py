import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tuilab.lab.slider import (
    Reach,
    cell_of,
    fine_step,
    fraction,
    next_mark,
    next_stop,
    reach,
    stops,
    value_at,
)
from tuilab.model.errors import InputError
from tuilab.model.parameters import (
    AtMost,
    Choice,
    Integer,
    LogInteger,
    MultipleOf,
    check_constraint,
    check_value,
)


@st.composite
def numbers(draw: st.DrawFn) -> Integer | LogInteger:
    low = draw(st.integers(1, 10_000))
    if draw(st.booleans()):
        step = draw(st.integers(1, 50))
        high = low + step * draw(st.integers(1, 2_000))
        return Integer(name="n", label="n", help="", default=low, low=low, high=high, step=step)
    high, of = low + draw(st.integers(1, 2**26)), draw(st.sampled_from([1, 1, 4, 6, 32]))
    low, high = low * of, high * of
    binary = draw(st.booleans())
    return LogInteger(
        name="n", label="n", help="", default=low, low=low, high=high, binary=binary, multiple=of
    )


@st.composite
def numbers_with_value(draw: st.DrawFn) -> tuple[Integer | LogInteger, int]:
    parameter = draw(numbers())
    if isinstance(parameter, Integer):
        steps = (parameter.high - parameter.low) // parameter.step
        return parameter, parameter.low + parameter.step * draw(st.integers(0, steps))
    of = parameter.multiple
    return parameter, of * draw(st.integers(parameter.low // of, parameter.high // of))


def allowed(parameter: Integer | LogInteger, value: int) -> bool:
    try:
        return check_value(parameter, value) == value
    except InputError:
        return False


@given(numbers(), st.integers(8, 200), st.data())
def test_each_cell_gives_an_allowed_value_that_is_shown_at_that_cell(parameter, cells, data):
    cell = data.draw(st.integers(0, cells - 1))
    value = value_at(parameter, cell, cells)
    assert allowed(parameter, value)
    shown = cell_of(parameter, value, cells)
    if shown != cell:
        # The slider may show the value in another cell only if the chosen cell has no allowed value.
        near = 3 * getattr(parameter, "multiple", 1)
        around = range(max(parameter.low, value - near), min(parameter.high, value + near) + 1)
        nearer = [v for v in around if allowed(parameter, v) and cell_of(parameter, v, cells) == cell]
        assert nearer == []


@given(numbers_with_value(), st.integers(8, 200))
def test_the_thumb_stays_on_the_track_and_grows_with_the_value(number, cells):
    parameter, value = number
    cell = cell_of(parameter, value, cells)
    assert 0 <= cell < cells
    assert cell_of(parameter, parameter.low, cells) == 0 <= cell
    assert cell <= cell_of(parameter, parameter.high, cells) == cells - 1


@given(numbers_with_value(), st.sampled_from([-1, 1]), st.integers(1, 6))
def test_stops_reach_the_end_and_not_beyond(number, direction, times):
    parameter, value = number
    moved = next_stop(parameter, value, direction, times)
    assert allowed(parameter, moved)
    assert (moved - value) * direction >= 0
    assert moved != value or value == (stops(parameter)[-1] if direction > 0 else parameter.low)


@given(numbers_with_value(), st.sampled_from([-1, 1]))
def test_fine_steps_are_finer_than_stops_and_always_move(number, direction):
    parameter, value = number
    moved = fine_step(parameter, value, direction)
    assert allowed(parameter, moved)
    end = parameter.high if direction > 0 else parameter.low
    if value != end:
        assert (moved - value) * direction > 0
        if isinstance(parameter, LogInteger):
            assert abs(moved - value) <= max(parameter.multiple, value // 8 + parameter.multiple - 1)


@pytest.mark.parametrize(
    ("binary", "value", "up", "down"), [(True, 64, 68, 62), (True, 96, 100, 92), (False, 100, 110, 99)]
)
def test_fine_steps_shrink_below_a_power(binary, value, up, down):
    parameter = LogInteger(name="n", label="n", help="", default=64, low=1, high=4_096, binary=binary)
    assert [fine_step(parameter, value, way) for way in (1, -1)] == [up, down]


def test_arrows_on_a_binary_scale_stop_at_powers_of_two_and_both_ends():
    parameter = LogInteger(name="n", label="n", help="", default=300, low=300, high=5_000)
    assert stops(parameter) == [300, 512, 1024, 2048, 4096, 5000]


def test_arrows_on_a_decimal_scale_stop_at_1_2_5():
    parameter = LogInteger(name="n", label="n", help="", default=1, low=1, high=100, binary=False)
    assert stops(parameter) == [1, 2, 5, 10, 20, 50, 100]


def test_a_click_finds_the_documents_value_before_a_rounder_one():
    parameter = LogInteger(name="n", label="n", help="", default=256, low=256, high=16_777_216)
    cell = cell_of(parameter, 10_000, 40)
    assert value_at(parameter, cell, 40) == 8_192 or cell_of(parameter, 8_192, 40) != cell
    assert value_at(parameter, cell, 40, marks=[10_000]) == 10_000


@given(st.integers(2, 9), st.integers(8, 100))
def test_every_choice_has_a_cell_that_gives_it_back(count, cells):
    options = tuple(f"option {i}" for i in range(count))
    parameter = Choice(name="c", help="", default=options[0], options=options)
    for stop in options:
        if cells >= 2 * count:
            assert value_at(parameter, cell_of(parameter, stop, cells), cells) == stop


def test_fraction_of_a_log_scale_is_equal_for_equal_ratios():
    parameter = LogInteger(name="n", label="n", help="", default=1, low=1, high=1_024)
    assert [round(fraction(parameter, 2**k), 9) for k in range(11)] == [round(k / 10, 9) for k in range(11)]
    assert fraction(parameter, 0) == 0.0 and fraction(parameter, math.inf) == 1.0


@pytest.mark.parametrize(
    ("value", "direction", "expected"), [(5, 1, 10), (10, 1, 2), (2, -1, 10), (7, -1, 2), (1, -1, 10)]
)
def test_marks_are_visited_in_a_cycle(value, direction, expected):
    parameter = LogInteger(name="n", help="", default=1, low=1, high=100)
    assert next_mark(parameter, [2, 10, 2], value, direction) == expected
    assert next_mark(parameter, [], value, direction) is None


@given(
    st.sampled_from([AtMost, MultipleOf]), st.integers(1, 10_000), st.integers(1, 10_000),
    st.integers(-5_000, 20_000), st.sampled_from([-1, 1]), st.booleans(),
)  # fmt: skip
def test_a_held_value_is_allowed_and_a_refused_one_has_a_reason(kind, one, other, wanted, direction, first):
    low, high = sorted((one, other))
    a, b = (high // low * low, low) if kind is MultipleOf else (low, high)
    moved, kept = ("a", "b") if first or kind is MultipleOf else ("b", "a")
    rule, values = kind("a", "b", "it fits"), {"a": a, "b": b}
    parameter = LogInteger(name=moved, help="", default=1, low=1, high=10_000)
    found = reach(parameter, [rule], values)
    held = found.held(wanted, direction)
    assert found.why_not(held) == "" and parameter.low <= held <= parameter.high
    check_constraint(rule, {**values, moved: held})
    assert found.why_not(values[moved]) == "" and found.held(values[moved], direction) == values[moved]
    if wanted != held:
        assert found.why_not(wanted)
        assert f"{kept} = {values[kept]:,}: it fits" in found.why_not(wanted) or not 1 <= wanted <= 10_000


def test_every_choice_can_be_reached():
    words = Choice(name="c", help="", default="a", options=("a", "b"))
    assert reach(words).why_not("b") == "" and reach(words).held("b", 1) == "b"


@given(
    st.integers(0, 60),
    st.integers(0, 200),
    st.integers(1, 12),
    st.integers(-300, 500),
    st.sampled_from((-1, 1)),
)
def test_a_held_value_is_the_nearest_allowed_one_in_the_direction(low, wide, multiple, value, direction):
    may = Reach(low, low + wide, multiple, "too low", "too high", "between")
    allowed = [each for each in range(low, low + wide + 1) if each % multiple == 0]
    assume(allowed)
    inside = min(low + wide, max(low, value))
    ahead = [each for each in allowed if (each - inside) * direction >= 0]
    assert may.held(value, direction) == min(ahead or allowed, key=lambda each: abs(each - inside))
    assert (may.why_not(value) == "") == (value in allowed)


def log(low: int, high: int, binary: bool = True, multiple: int = 1) -> LogInteger:
    return LogInteger(
        name="n", label="n", help="", default=low, low=low, high=high, binary=binary, multiple=multiple
    )


def steps_of(high: int, step: int = 1) -> Integer:
    return Integer(name="n", label="n", help="", default=0, low=0, high=high, step=step)


def test_each_limit_names_its_value_and_its_reason():
    plain = reach(log(1_000, 20_000))
    assert plain == Reach(1_000, 20_000, 1, "the minimum is 1,000", "the maximum is 20,000")
    assert [plain.why_not(value) for value in (999, 1_000, 20_000, 20_001)] == [
        plain.below, "", "", plain.above,
    ]  # fmt: skip
    assert [plain.spans(value) for value in (999, 1_000, 20_000, 20_001)] == [False, True, True, False]
    rules = [AtMost("n", "top", "it fits"), AtMost("end", "n", "it ends"), MultipleOf("n", "of", "they tile")]
    found = reach(log(4, 20_000, multiple=4), rules, {"top": 12_000, "end": 1_200, "of": 6})
    assert found == Reach(
        1_200, 12_000, 12,
        "at least end = 1,200: it ends", "at most top = 12,000: it fits", "a multiple of of = 6: they tile",
    )  # fmt: skip
    assert [found.why_not(value) for value in (1_199, 1_200, 1_201, 12_000, 12_001)] == [
        found.below, "", found.between, "", found.above,
    ]  # fmt: skip
    assert reach(log(2_000, 8_000, multiple=2_000)).between == "a multiple of 2,000"


@pytest.mark.parametrize(
    ("rule", "other", "expected"),
    [
        (AtMost("n", "o", "why"), 101, (10, 100, "the minimum is 10", "the maximum is 100")),
        (AtMost("n", "o", "why"), 100, (10, 100, "the minimum is 10", "at most o = 100: why")),
        (AtMost("n", "o", "why"), 9, (10, 10, "the minimum is 10", "at most o = 9: why")),
        (AtMost("o", "n", "why"), 9, (10, 100, "the minimum is 10", "the maximum is 100")),
        (AtMost("o", "n", "why"), 10, (10, 100, "at least o = 10: why", "the maximum is 100")),
        (AtMost("o", "p", "why"), 50, (10, 100, "the minimum is 10", "the maximum is 100")),
        (MultipleOf("n", "o", "why"), 0, (10, 100, "the minimum is 10", "the maximum is 100")),
        (MultipleOf("o", "n", "why"), 50, (10, 100, "the minimum is 10", "the maximum is 100")),
    ],
)
def test_a_constraint_counts_from_its_limit_on(rule, other, expected):
    found = reach(log(10, 100), [rule], {"o": other})
    assert (found.low, found.high, found.below, found.above, found.multiple) == (*expected, 1)
    assert reach(log(10, 100), [rule], {}) == reach(log(10, 100)), "the other value is unknown"


@pytest.mark.parametrize(("steps", "every"), [(40, 1), (41, 2), (80, 2), (81, 5), (200, 5), (201, 10)])
def test_equal_steps_have_at_most_forty_stops_and_the_last_value(steps, every):
    assert stops(steps_of(3 * steps + 2, 3)) == [3 * n for n in sorted({*range(0, steps, every), steps})]


def test_arrows_move_from_a_stop_or_from_between_two():
    scale = log(300, 5_000)
    moves = [(600, 1, 1), (600, 1, 2), (600, -1, 1), (600, -1, 2), (512, 1, 1), (512, -1, 1), (512, 1, 2)]
    assert [next_stop(scale, *move) for move in moves] == [1_024, 2_048, 512, 300, 1_024, 300, 2_048]
    assert [next_stop(scale, 2_048, 1, 9), next_stop(scale, 2_048, -1, 9)] == [5_000, 300]
    assert stops(log(12, 100, multiple=12)) == [12, 24, 48, 96, 100]
    assert stops(log(1, 60, False)) == [1, 2, 5, 10, 20, 50, 60]


@pytest.mark.parametrize(
    ("parameter", "value", "down", "up"),
    [
        (log(1, 2**20), 1_024, 992, 1_088),
        (log(1, 2**20), 1_030, 1_024, 1_088),
        (log(1, 2**20), 1_023, 992, 1_024),
        (log(1, 2**20), 16, 15, 17),
        (log(1, 2**20), 32, 31, 34),
        (log(1, 2**20), 1, 1, 2),
        (log(1, 2**20), 2**20, 2**20 - 2**15, 2**20),
        (log(1, 10**6, False), 100, 99, 110),
        (log(1, 10**6, False), 1_005, 1_000, 1_100),
        (log(6, 6_000, multiple=6), 96, 90, 102),
        (log(6, 6_000, multiple=6), 192, 180, 204),
        (steps_of(30, 3), 0, 0, 3),
        (steps_of(30, 3), 15, 12, 18),
        (steps_of(30, 3), 30, 27, 30),
        (Choice(name="c", help="", default="a", options=("a", "b", "c")), "b", "a", "c"),
    ],
)
def test_a_fine_step_is_a_sixteenth_of_an_octave_or_a_tenth_of_a_decade(parameter, value, down, up):
    assert (fine_step(parameter, value, -1), fine_step(parameter, value, 1)) == (down, up)


def test_a_click_on_the_track_gives_the_roundest_value_of_its_cell():
    assert [value_at(log(1, 1_024), cell, 11) for cell in range(-1, 12)] == [
        1,
        *(2**n for n in range(11)),
        1_024,
    ]
    assert [value_at(log(1, 1_000, False), cell, 10) for cell in range(10)] == [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000,
    ]  # fmt: skip
    assert [value_at(steps_of(100), cell, 11) for cell in range(11)] == list(range(0, 101, 10))
    words = Choice(name="c", help="", default="a", options=("a", "b", "c"))
    assert [value_at(words, cell, 9) for cell in range(9)] == list("aaabbbccc")
    assert value_at(log(1, 1_024), 0, 11, marks=[1, 2]) == 1
    assert value_at(log(1, 16), 1, 3) == 4, "8 lies on the border, and belongs to the next cell"
    # halves are rounded up, so that a larger value never gets a lower cell
    assert [cell_of(steps_of(8), value, 5) for value in range(9)] == [0, 1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize("parameter", [log(64, 64), steps_of(0)])
def test_a_slider_with_a_single_value_stays_there(parameter):
    only = parameter.low
    assert (fraction(parameter, only), cell_of(parameter, only, 9), stops(parameter)) == (0.0, 0, [only])
    assert {value_at(parameter, cell, 9) for cell in range(9)} == {only}
    assert [next_stop(parameter, only, way) for way in (-1, 1)] == [only, only]
