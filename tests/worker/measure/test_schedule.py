"""The choice of the next arm: expensive arms do not starve cheap arms, or vice versa."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tuilab.worker.measure.rounds import companions, strides

COSTS = st.lists(st.floats(1e-4, 30.0), min_size=1, max_size=12)


def test_if_all_cells_fit_they_take_every_turn() -> None:
    assert strides([0.01] * 6, rounds=20, limit_s=6.0) == [1] * 6


def test_an_expensive_cell_has_spread_turns_and_cheap_ones_keep_theirs() -> None:
    assert strides([0.01, 0.01, 1.0], rounds=20, limit_s=6.0) == [1, 1, 4]


def test_time_left_by_cheap_cells_is_split_evenly_among_expensive_ones() -> None:
    assert strides([0.01, 1.0, 1.0], rounds=20, limit_s=6.2) == [1, 7, 7]


def test_a_call_longer_than_the_limit_has_one_turn() -> None:
    assert strides([5.0, 0.01], rounds=20, limit_s=2.0) == [20, 1]


@given(COSTS, st.integers(1, 40), st.floats(0.01, 200.0))
def test_turns_fit_into_the_limit_unless_every_cell_has_only_one(
    costs: list[float], rounds: int, limit: float
) -> None:
    turns = [-(-rounds // stride) for stride in strides(costs, rounds, limit)]
    assert all(1 <= turn <= rounds for turn in turns)
    dear = [cost for cost, turn in zip(costs, turns, strict=True) if turn == 1]
    rest = sum(cost * turn for cost, turn in zip(costs, turns, strict=True) if turn > 1)
    assert rest <= limit * 1.0001 or dear


@given(COSTS, st.integers(1, 40), st.floats(0.01, 200.0))
def test_a_cheaper_cell_never_has_fewer_turns(costs: list[float], rounds: int, limit: float) -> None:
    found = sorted(zip(costs, strides(costs, rounds, limit), strict=True))
    for (cheap, often), (dear, seldom) in itertools.pairwise(found):
        assert cheap == dear or often <= seldom


@given(st.lists(st.floats(1e-4, 10.0), max_size=8), st.floats(0.0, 10.0))
def test_companion_cells_cost_no_more_than_the_cells_they_accompany(
    done: list[float], unfinished: float
) -> None:
    stay = companions(done, unfinished)
    assert len(set(stay)) == len(stay)
    assert sum(done[i] for i in stay) <= unfinished + 1e-9
    left = [done[i] for i in range(len(done)) if i not in stay]
    assert not left or sum(done[i] for i in stay) + min(left) > unfinished
