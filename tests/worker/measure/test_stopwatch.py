"""The seconds of a block are the duration of its calls, without the cost of the synchronization."""

import gc

import pytest

from tests.worker.measure.simulated import SYNC_S, Simulation
from tuilab.worker.measure.stopwatch import BLOCK_S, LEAD_IN_FROM, Stopwatch
from tuilab.workloads.base import Case


def test_the_cost_of_an_empty_sync_is_measured_and_subtracted() -> None:
    simulation = Simulation()
    cell = simulation.cell("a", 100e-6)
    assert simulation.bench.stopwatch.empty_s == pytest.approx(SYNC_S)
    assert simulation.bench.stopwatch.block(cell.case, 10) == pytest.approx(1e-3)


def test_a_block_is_never_shorter_than_200_empty_syncs() -> None:
    clock = Simulation().clock
    assert Stopwatch(lambda: clock.spend(1e-6), clock).block_s == BLOCK_S
    assert Stopwatch(lambda: clock.spend(1e-4), clock).block_s == pytest.approx(0.02)


def test_blocks_of_four_or_more_calls_start_with_an_untimed_one() -> None:
    simulation = Simulation()
    made = []
    case = Case(call=lambda: made.append(simulation.clock.spend(2e-3 if not made else 1e-3)))
    assert simulation.bench.stopwatch.block(case, LEAD_IN_FROM) == pytest.approx(1e-3 * LEAD_IN_FROM)
    assert len(made) == LEAD_IN_FROM + 1


def test_a_block_of_one_call_is_also_its_latency() -> None:
    simulation = Simulation()
    made = []
    case = Case(call=lambda: made.append(simulation.clock.spend(1e-3)))
    assert simulation.bench.stopwatch.visit(case, 1, latency=True) == (
        pytest.approx(1e-3),
        pytest.approx(1e-3),
    )
    assert len(made) == 1


def test_a_visit_measures_latency_and_block_in_one_scope() -> None:
    simulation = Simulation()
    entered = []

    class Scope:
        def __enter__(self) -> None:
            entered.append(simulation.now)

        def __exit__(self, *_: object) -> None: ...

    case = Case(call=lambda: simulation.clock.spend(1e-3), scope=Scope)
    seconds, latency = simulation.bench.stopwatch.visit(case, 8, latency=True)
    assert (seconds, latency) == (pytest.approx(8e-3), pytest.approx(1e-3))
    assert len(entered) == 1


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_collection_is_paused_only_inside_a_block(collecting: bool) -> None:
    simulation = Simulation()
    inside = []
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        simulation.bench.stopwatch.time(lambda: inside.append(gc.isenabled()))
        with pytest.raises(ZeroDivisionError):
            simulation.bench.stopwatch.time(lambda: 1 / 0)
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if before else gc.disable)()
    assert inside == [False]
