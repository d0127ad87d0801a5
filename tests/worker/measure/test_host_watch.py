"""The kernel's counters show how much of the processors other processes used in each window."""

import pytest

from tuilab.model.events import HostWindow
from tuilab.worker.measure.interference import Counters, HostWatch


class Host:
    def __init__(self) -> None:
        self.at = self.busy_s = 0.0

    def spend(self, seconds: float, others: float) -> None:
        self.at += seconds
        self.busy_s += seconds * (1 + others)

    def read(self) -> Counters:
        return Counters(self.at, 0, None, None, self.busy_s, self.at)


def watched(rounds: list[tuple[float, float, float]], begin: int = 0) -> tuple[HostWindow, ...]:
    host = Host()
    watch = HostWatch(lambda: host.at, host.read)
    watch.start(begin)
    for index, (seconds, others, song) in enumerate(rounds, begin):
        host.spend(seconds, others)
        watch.after(song, index)
    return watch.windows(begin + len(rounds))


def test_short_rounds_share_a_window_and_long_ones_have_their_own() -> None:
    found = watched([(0.05, 0.0, 5e-5)] * 5 + [(0.6, 1.5, 7e-5), (0.6, 0.0, 5e-5)], begin=3)
    assert [(w.first, w.rounds) for w in found] == [(3, 5), (8, 1), (9, 1)]
    assert [w.others for w in found] == pytest.approx([0.0, 1.5, 0.0])
    assert [w.canary_s for w in found] == [5e-5, 7e-5, 5e-5]


def test_the_last_window_counts_if_it_is_long_enough_for_the_kernel() -> None:
    assert [(w.first, w.rounds) for w in watched([(0.3, 0, 5e-5), (0.22, 0, 5e-5)])] == [(0, 1), (1, 1)]
    assert [(w.first, w.rounds) for w in watched([(0.3, 0, 5e-5), (0.05, 0, 5e-5)])] == [(0, 1)]


def test_a_start_forgets_earlier_windows() -> None:
    host = Host()
    watch = HostWatch(lambda: host.at, host.read)
    host.spend(5.0, 2.0)
    watch.start(7)
    host.spend(0.3, 0.0)
    watch.after(5e-5, 7)
    assert [(w.first, w.rounds) for w in watch.windows(8)] == [(7, 1)]
    assert watch.windows(8) == ()


def test_a_short_process_is_one_window_including_its_warm_up() -> None:
    host = Host()
    watch = HostWatch(lambda: host.at, host.read, whole=True)
    watch.start(0)
    host.spend(0.3, 1.0)
    for index in range(3):
        host.spend(0.02, 0.0)
        watch.after(5e-5, index)
    (found,) = watch.windows(3)
    assert (found.first, found.rounds) == (0, 3) and found.others == pytest.approx(0.3 / 0.36)
