"""The canary distinguishes a machine whose speed changed from a machine that was only interrupted."""

from collections.abc import Callable, Iterator

from tests.worker.measure.simulated import Clock
from tuilab.worker.measure.interference import MEMORY, TRIES, Canary


def canary(songs: Iterator[float]) -> Canary:
    clock = Clock()
    return Canary(lambda: clock.ns * 1e-9, lambda: clock.spend(next(songs)))


def sung(*songs: float) -> Iterator[float]:
    for song in songs:
        yield from [song] * TRIES


def heard(
    songs: Iterator[float], rounds: int, accept: Callable[[bool], bool] = lambda moved: True
) -> list[bool]:
    bird = canary(songs)
    bird.start()
    out = []
    for _ in range(rounds):
        _, moved = bird.after()
        out.append(moved)
        if accept(moved):
            bird.accept()
    return out


def test_a_steady_canary_disturbs_no_round() -> None:
    assert heard(sung(*[50e-6] * 11), 10) == [False] * 10


def test_a_canary_within_five_percent_is_steady() -> None:
    assert not any(heard(sung(*[50e-6, 52e-6] * 5, 50e-6), 10))


def test_a_slow_canary_disturbs_the_rounds_on_both_sides() -> None:
    songs = [50e-6] * 5 + [60e-6] + [50e-6] * 5
    assert [i for i, moved in enumerate(heard(sung(*songs), 10)) if moved] == [4, 5]


def test_one_interrupted_try_does_not_count() -> None:
    songs = sung(*[50e-6] * 4)
    tries = [*list(songs)[:-1], 5e-3]
    assert heard(iter(tries), 3) == [False] * 3


def test_a_lasting_change_becomes_the_new_reference() -> None:
    songs = [50e-6] * 30 + [60e-6] * (2 * MEMORY)
    moved = heard(sung(*songs), len(songs) - 1)
    assert moved[30] and not any(moved[-MEMORY // 2 :])
