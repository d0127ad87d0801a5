import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.tui.data import profile
from tuilab.model.profile import Span
from tuilab.presentation.timeline import stretches, tracks

SPANS = st.lists(
    st.builds(Span, st.integers(0, 1), st.floats(0, 10), st.floats(0, 3), st.just("op")),
    min_size=1,
    max_size=80,
)


@given(SPANS)
def test_tracks_hold_every_span_once_and_do_not_overlap(spans):
    found = tracks(spans)
    assert sum(len(track.spans) for track in found) <= len(spans)
    for track in found:
        for one, other in itertools.pairwise(track.spans):
            assert one.end_s <= other.start_s
    shallow = [track for track in found if track.depth == 3]
    if not shallow:
        assert sum(len(track.spans) for track in found) == len(spans)


def test_computing_is_drawn_at_any_nesting_depth():
    """The op is nested more deeply than there are tracks, so the last track shows the computation instead of
    the launches.
    """
    nested = [Span(0, 0.0 + depth, 10.0 - 2 * depth, "start", "dispatch") for depth in range(4)]
    work = [Span(0, 3.5, 0.2, "op", "compute"), Span(0, 4.0, 0.5, "op", "copy")]
    found = tracks([*nested, *work, Span(0, 3.6, 0.05, "start", "dispatch")])
    assert [span.phase for track in found for span in track.spans] == ["dispatch"] * 3 + ["compute", "copy"]


@given(SPANS, st.floats(0, 9), st.floats(0.01, 12), st.integers(1, 200))
def test_pieces_cover_the_spans_in_the_window(spans, begin, length, columns):
    for track in tracks(spans):
        drawn = stretches(track, begin, begin + length, columns)
        assert all(0 <= piece.first < piece.end <= columns for piece in drawn)
        assert all(one.end <= other.first for one, other in itertools.pairwise(drawn))
        wide = [
            s
            for s in track.spans
            if min(s.end_s, begin + length) - max(s.start_s, begin) > 3 * length / columns
        ]
        assert [span for span in wide if span not in [piece.span for piece in drawn]] == []


def test_a_long_span_behind_a_short_one_in_its_column_is_drawn():
    short, long = Span(0, 0.0, 0.125, "op"), Span(0, 0.125, 1.0, "op")
    [track] = tracks([short, long])
    assert [(p.first, p.end, p.span) for p in stretches(track, 0.0, 1.0, 4)] == [(0, 1, short), (1, 4, long)]


def test_a_window_of_many_events_costs_its_columns_not_its_events():
    track = tracks(profile(20_000).spans)[1]

    class Counting(list):
        reads = 0

        def __getitem__(self, index):
            Counting.reads += 1
            return super().__getitem__(index)

    counted = type(track)(track.lane, track.depth, Counting(track.spans), track.starts)
    drawn = stretches(counted, 0.0, track.spans[-1].end_s, 100)
    assert len(drawn) == 100 and Counting.reads < 1_000
