"""Long series whose extremes survive; labels that do not collide."""

from hypothesis import given
from hypothesis import strategies as st

from tuilab.tui.widgets.chart import Thinned, spread


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3_000), st.integers(4, 100), st.data())
def test_thinning_keeps_the_extremes_and_the_order(y, columns, data):
    x = list(range(len(y)))
    grown: list[float] = []
    thinned = Thinned(x, grown)
    while len(grown) < len(y):
        grown += y[len(grown) : len(grown) + data.draw(st.integers(1, len(y)))]
        assert thinned.follows(x, grown)
        xs, ys = thinned.points(columns)
        assert (min(ys), max(ys)) == (min(grown), max(grown))
        assert xs == sorted(xs) and all(grown[i] == v for i, v in zip(xs, ys, strict=True))
        assert len(xs) <= 4 * columns + 4


def test_another_series_or_a_shorter_one_is_not_followed():
    y = [1.0, 2.0, 3.0]
    thinned = Thinned([0, 1, 2], y)
    thinned.points(1)
    assert not thinned.follows([0, 1, 2], [1.0, 2.0, 3.0])
    y.clear()
    assert not thinned.follows(thinned.x, y)


@given(st.lists(st.floats(0, 19), max_size=20))
def test_labels_get_a_row_each_in_the_order_of_their_values(wanted):
    rows = spread(wanted, 20)
    assert len(set(rows)) == len(rows) and all(0 <= row < 20 for row in rows)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert [rows[i] for i in order] == sorted(rows)
