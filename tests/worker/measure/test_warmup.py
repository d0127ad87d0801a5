"""The warm-up lasts until timings are steady, and makes few calls if calls are slow."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.worker.measure.simulated import Simulation
from tuilab.worker.measure.bench import TimedArm, Warmth
from tuilab.worker.measure.stopwatch import BLOCK_S
from tuilab.worker.measure.warmup import steady, warm_up


def warm(simulation: Simulation, cell: TimedArm, busy_s: float = 1.0, limit_s: float = 10.0) -> Warmth:
    return warm_up(
        cell, simulation.bench.stopwatch, busy_s=busy_s, limit_s=limit_s, check=simulation.bench.check
    )


def test_calls_of_a_block_double_until_it_is_long_enough() -> None:
    simulation = Simulation()
    cell = simulation.cell("a", 0.3e-3)
    warmth = warm(simulation, cell)
    assert cell.calls == 32 and cell.calls * 0.3e-3 >= BLOCK_S
    assert warmth.warm and 1.0 <= warmth.seconds < 1.1


def test_every_warm_up_block_is_reported() -> None:
    simulation = Simulation()
    cell, told = simulation.cell("a", 1e-3), []
    warm_up(
        cell,
        simulation.bench.stopwatch,
        busy_s=1.0,
        limit_s=9.0,
        check=simulation.bench.check,
        tell=told.append,
    )
    assert len(told) > 50 and told == pytest.approx([1e-3] * len(told))


def test_a_cell_that_speeds_up_is_called_until_it_stops() -> None:
    simulation = Simulation()
    cell = simulation.cell("a", lambda: 1e-3 * (1 + max(0.0, 3.0 - simulation.now)))
    warmth = warm(simulation, cell)
    assert warmth.warm and simulation.now > 3.0
    assert cell.call_s == pytest.approx(1e-3)


def test_a_cell_with_a_known_warm_up_is_called_for_that_time() -> None:
    simulation = Simulation()
    cell = simulation.cell("a", lambda: 1e-3 * (1 + simulation.now))
    clock = simulation.bench.stopwatch
    warmth = warm_up(cell, clock, busy_s=0.05, limit_s=9.0, check=simulation.bench.check, settles_in=16)
    assert warmth.warm and 0.05 <= warmth.seconds < 0.1
    assert cell.calls * 1e-3 >= BLOCK_S


def test_immediate_and_gradual_warm_ups_are_distinguished() -> None:
    simulation = Simulation()
    assert warm(simulation, simulation.cell("a", 1e-3)).at_once
    begun = simulation.now
    slow = simulation.cell("b", lambda: 1e-3 * (1 + max(0.0, 0.3 - (simulation.now - begun))))
    warmth = warm(simulation, slow)
    assert warmth.warm and not warmth.at_once
    assert not warm(simulation, simulation.cell("c", 0.3)).at_once, "too few calls to decide"


def test_a_cell_that_never_settles_is_not_warm() -> None:
    simulation = Simulation()
    cell = simulation.cell("a", lambda: 1e-3 * (1 + simulation.now))
    warmth = warm(simulation, cell)
    assert not warmth.warm and 9.0 < warmth.seconds <= 10.5


def test_a_call_of_five_seconds_is_repeated_once() -> None:
    simulation = Simulation()
    warmth = warm(simulation, simulation.cell("a", 5.0))
    assert warmth == Warmth(seconds=pytest.approx(10.0, rel=0.01), calls=2, warm=True)


def test_a_call_longer_than_the_limit_is_not_repeated() -> None:
    simulation = Simulation()
    assert warm(simulation, simulation.cell("a", 20.0)) == Warmth(seconds=20.0, calls=1, warm=False)


def test_a_stop_ends_the_warm_up() -> None:
    simulation = Simulation()
    simulation.bench.context.cancel("r")
    with pytest.raises(BaseException, match="r"):
        warm(simulation, simulation.cell("a", 1e-3))


def test_two_long_calls_that_differ_are_not_steady() -> None:
    assert steady([5.0, 5.2], 5.2, limit_s=10.0)
    assert not steady([6.0, 5.0], 5.0, limit_s=10.0)
    assert not steady([5.0], 5.0, limit_s=10.0)


def test_the_time_to_enter_a_scope_counts_as_time_spent() -> None:
    simulation = Simulation()
    cell = simulation.cell("a", 30e-3)

    @contextmanager
    def primed() -> Iterator[None]:
        simulation.clock.spend(0.1)
        yield

    cell.case.scope = primed
    warmth = warm(simulation, cell, busy_s=0.3, limit_s=0.7)
    assert warmth.warm and simulation.now < 0.8
    assert cell.cost_s == pytest.approx(0.13, rel=0.01)
