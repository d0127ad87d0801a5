from array import array

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.made import EAGER, MODES, folded, rounds, started
from tests.tui.data import run_result
from tuilab.model import events as e
from tuilab.report.chart import Thinned, about_sample, live_chart
from tuilab.report.sweep import HeatAxis, sweep_chart


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3_000), st.integers(4, 100), st.data())
def test_thinning_keeps_the_extremes_and_the_order(y, columns, data):
    x = list(range(len(y)))
    grown: list[float] = []
    thinned = Thinned(x, grown)
    while len(grown) < len(y):
        grown += y[len(grown) : len(grown) + data.draw(st.integers(1, len(y)))]
        assert thinned.follows(x, grown)
        (xs, ys), _ = thinned.points(columns)
        assert (min(ys), max(ys)) == (min(grown), max(grown))
        assert xs == sorted(xs) and all(grown[i] == v for i, v in zip(xs, ys, strict=True))
        assert len(xs) <= 4 * columns + 4


def test_another_or_a_shorter_series_starts_a_new_trace():
    y = [1.0, 2.0, 3.0]
    thinned = Thinned([0, 1, 2], y)
    thinned.points(1)
    assert not thinned.follows([0, 1, 2], [1.0, 2.0, 3.0])
    y.clear()
    assert not thinned.follows(thinned.x, y)


def test_a_trace_of_a_long_run_goes_through_the_medians():
    y = array("d", (1.0 + (10.0 if i % 50 == 0 else 0.0) for i in range(10_000)))
    thinned = Thinned(range(len(y)), y)
    (_, extremes), (xs, ys) = thinned.points(80)
    assert len(xs) == len(ys) <= 161 and set(ys) == {1.0}
    assert max(extremes) == 11.0, "spikes survive as extremes"


def test_sizes_are_labelled_as_they_were_counted():
    result = run_result()
    tens = tuple(
        replace(point, values={"samples": 1_000 * (1 + number)}) for number, point in enumerate(result.points)
    )
    assert sweep_chart(result).x.kind == "binary"
    axis = sweep_chart(replace(result, points=tens)).x
    assert axis.kind == "count" and axis.read_out(2_000) == "samples 2,000"
    zero = (replace(tens[0], values={"samples": 0}), *tens[1:])
    assert not sweep_chart(replace(result, points=zero)).x.log
    assert HeatAxis("n", (1_000, 2_000)).labels == HeatAxis("n", (1_024, 2_048)).labels == ("1k", "2k")


def test_arms_that_have_not_begun_are_counted_instead_of_listed():
    state = folded(started("r1", *MODES), *rounds("r1", 3, EAGER))
    assert [series.label for series in live_chart(state).series][1:] == ["2 arms to follow"]


def test_a_sample_is_compared_with_the_median_of_its_arm():
    events = [
        e.Round(run="r1", index=i, blocks=(e.Block(EAGER.id, 0, 10, 10 * each),), elapsed_s=i / 10)
        for i, each in enumerate((1e-3, 1.1e-3, 0.8e-3))
    ]
    known = folded(started("r1", EAGER), *events).arms[EAGER.id]
    said = [about_sample(known, known.cells[0], 1e-3, index) for index in range(3)]
    assert said[1:] == ["round 1: 1.10 ms, 10.0% above the median", "round 2: 800 µs, 20.0% below the median"]
