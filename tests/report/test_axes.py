import math
import random
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.test_whole_reports import Text
from tuilab.report import axes
from tuilab.report.axes import PlotAxis, laid, limits, linear, logarithmic, place, powers_of_two, ticks

TIMES = st.floats(1e-9, 1e4, allow_nan=False)


@given(st.lists(TIMES, min_size=1, max_size=50), st.booleans())
def test_limits_hold_every_value(values, log):
    low, high = limits(PlotAxis(log=log, kind="time"), values)
    assert low < high
    assert low <= min(values) and max(values) <= high


@given(st.lists(st.lists(TIMES, min_size=1, max_size=10), min_size=2, max_size=8), st.booleans())
def test_limits_only_grow_and_only_when_data_leaves_them(batches, log):
    axis, before, seen = PlotAxis(log=log, kind="time"), None, []
    for batch in batches:
        seen += batch
        now = limits(axis, seen, before)
        if before:
            assert now[0] <= before[0] and now[1] >= before[1]
            if before[0] <= min(seen) and max(seen) <= before[1]:
                assert now == before
        before = now


def test_a_growing_run_seldom_moves_its_axis():
    axis, before, changes = PlotAxis(low=0.0), None, 0
    for n in range(1, 2_000):
        now = limits(axis, [0.0, float(n)], before)
        changes += now != before
        before = now
    assert changes < 40


def test_fixed_ends_are_kept_and_empty_or_invalid_data_gives_an_axis():
    assert limits(PlotAxis(low=0.0), [3.0, 4.0]) == (0.0, 4.5)
    assert limits(PlotAxis(), []) == (0.0, 1.0)
    sizes = PlotAxis(kind="binary", log=True)
    assert limits(sizes, [512, 4096], limits(sizes, [512])) == (512, 4096)
    low, high = limits(PlotAxis(log=True), [-1.0, 0.0, math.nan, 2.0])
    assert 0 < low < 2.0 < high


@given(st.floats(1e-6, 1e3), st.integers(2, 12))
def test_a_linear_axis_from_zero_has_at_least_two_ticks(high, most):
    values = linear(0.0, high, most)
    assert 2 <= len(values) <= most and values[0] == 0.0


@given(st.integers(1, 10_000), st.integers(2, 30), st.booleans())
def test_an_axis_of_counts_has_whole_numbers_only(last, most, log):
    axis = PlotAxis("round", "count", log=log)
    values = ticks(axis, limits(axis, [float(log), float(last)]), most).values
    assert values and all(abs(value - round(value)) < 1e-6 for value in values)


@given(st.floats(1e-9, 1e6), st.floats(1.001, 1e6), st.integers(2, 20))
def test_every_axis_has_as_many_ticks_as_fit(low, factor, most):
    high = low * factor
    for values in (linear(low, high, most), logarithmic(low, high, most)):
        assert 1 <= len(values) <= max(2, most)
        assert all(low * (1 - 1e-6) <= v <= high * (1 + 1e-6) for v in values)
        assert values == sorted(set(values))


@given(st.integers(0, 20), st.integers(1, 20), st.integers(2, 12))
def test_powers_of_two_are_evenly_thinned(first, span, most):
    values = powers_of_two(2.0**first, 2.0 ** (first + span), most)
    assert 2 <= len(values) <= most
    if span > 1:
        assert len({round(math.log2(b / a)) for a, b in pairwise(values)}) <= 1


@pytest.mark.parametrize(
    ("axis", "ends", "most", "labels", "unit"),
    [
        (PlotAxis(kind="time"), (0.0, 8e-4), 5, ("0", "200", "400", "600", "800"), "µs"),
        (PlotAxis(kind="time"), (0.0, 1e-3), 6, ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"), "ms"),
        (PlotAxis(kind="time", log=True), (3e-4, 6e-3), 5, ("0.5", "1", "2", "5"), "ms"),
        (
            PlotAxis(kind="time", log=True),
            (1e-5, 1e-1),
            5,
            ("10 µs", "100 µs", "1 ms", "10 ms", "100 ms"),
            "",
        ),
        (PlotAxis(kind="binary", log=True), (256, 16_777_216), 5, ("256", "4k", "64k", "1M", "16M"), ""),
        (PlotAxis(kind="count"), (0, 300), 4, ("0", "100", "200", "300"), ""),
    ],
)
def test_ticks_are_round_and_the_unit_is_named_once(axis, ends, most, labels, unit):
    found = ticks(axis, ends, most)
    assert (found.labels, found.unit) == (labels, unit)


def test_a_position_beyond_the_axis_is_outside():
    assert place(10.0, (1.0, 100.0), True) == pytest.approx(0.5)
    assert place(0.0, (1.0, 100.0), True) == -math.inf
    assert place(200.0, (0.0, 100.0), False) == 2.0


def test_the_axes_of_drawn_ranges(snapshot):
    """`--snapshot-update` updates the stored axes; review them."""
    out = []
    for seed in range(120):
        draw = random.Random(seed)
        axis = PlotAxis("x", draw.choice(("plain", "binary", "time", "rate")), log=draw.random() < 0.5)
        middle = 10 ** draw.uniform(-7, 7)
        values = [
            middle * 10 ** draw.uniform(0, draw.choice((0.0, 0.1, 1, 6))) for _ in range(draw.randint(0, 5))
        ]
        ends = axes.limits(axis, values)
        wider = axes.limits(axis, [value * draw.choice((0.5, 3)) for value in values], ends)
        most, value = draw.randint(1, 12), draw.choice(values or [1.0])
        where = axes.place(value, ends, axis.log)
        found = axes.ticks(axis, ends, most)
        out.append(
            f"{seed} {axis.kind} {axis.log} {ends} {wider} {where:.6f} {axes.unplace(where, ends, axis.log):.6g}"
        )
        out.append(
            f"  {found} {axes.round_up(value):.6g} {axes.round_down(value):.6g} {axes.nearest(sorted(values or [1.0]), middle)}"
        )
    assert re.sub(
        r"\d+\.\d+(?:e[-+]\d+)?", lambda found: f"{float(found[0]):.6g}", "\n".join(out)
    ) == snapshot(extension_class=Text)


def test_labels_that_overlap_or_do_not_fit_are_left_out():
    labels = [(0, "a"), (1, "b"), (3, "cd"), (5, "e"), (6, "fg"), (9, "hi")]
    assert laid(labels, 10) == "a  cd fg  "
    assert laid(labels, 11, first=3) == "   cd fg hi"


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("time", 4.78e-4, "x 478 µs"),
        ("binary", 16_384.0, "x 16,384"),
        ("count", 16_000.4, "x 16,000"),
        ("plain", 1.5, "x 1.5"),
    ],
)
def test_values_are_read_out_in_the_unit_of_the_axis(kind, value, text):
    assert PlotAxis(label="x", kind=kind).read_out(value) == text
