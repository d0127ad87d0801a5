"""Rounds of simulated arms: order, stopping, fairness to slow arms, the canary, failures and
cancellation.
"""

import itertools
import random
from collections import Counter

import msgspec
import pytest

from tests.worker.measure.simulated import QUICK, Simulation, noisy
from tuilab.model.events import Progress, Round
from tuilab.worker.context import Cancelled
from tuilab.worker.measure.bench import EVERY_S, TimedArm
from tuilab.worker.measure.rounds import REPEATS, WASTE_SHARE, RoundRobin


def refuse_failures(cell: TimedArm, error: BaseException) -> None:
    raise AssertionError(f"{cell.arm.id} failed") from error


def run(simulation: Simulation, cells: list[TimedArm], limit_s: float = 6.0) -> list[Round]:
    RoundRobin(simulation.bench, cells, limit_s, refuse_failures).run()
    return simulation.channel.of(Round)


def turns(rounds: list[Round]) -> Counter[str]:
    return Counter(block.arm for event in rounds for block in event.blocks)


def test_every_round_visits_every_cell_once_in_changing_order() -> None:
    simulation = Simulation()
    cells = [simulation.cell(name, 1e-3, calls=8) for name in "abcd"]
    rounds = run(simulation, cells)
    orders = {tuple(block.arm for block in event.blocks) for event in rounds}
    assert all(sorted(order) == sorted(c.arm.id for c in cells) for order in orders)
    assert len(orders) > 5


def test_the_order_follows_the_seed() -> None:
    def order(seed: int) -> list[list[str]]:
        simulation = Simulation(seed=seed)
        rounds = run(simulation, [simulation.cell(name, 1e-3, calls=8) for name in "abcd"])
        return [[block.arm for block in event.blocks] for event in rounds]

    assert order(5) == order(5) != order(6)


def test_steady_cells_end_with_the_fewest_rounds() -> None:
    simulation = Simulation()
    rounds = run(simulation, [simulation.cell(name, 1e-3, calls=8) for name in "ab"])
    assert len(rounds) == QUICK.rounds
    assert [event.index for event in rounds] == list(range(QUICK.rounds))


def test_a_noisy_cell_continues_until_precise_with_cheap_finished_ones() -> None:
    simulation = Simulation()
    quiet, noise = (
        simulation.cell("quiet", 1e-3, calls=8),
        simulation.cell("noisy", noisy(1e-3, 1.0), calls=8),
    )
    engine = RoundRobin(simulation.bench, [quiet, noise], 60.0, refuse_failures)
    engine.run()
    assert engine.finished(quiet) and engine.finished(noise)
    assert QUICK.rounds < len(noise.samples)
    assert len(quiet.samples) > 0.8 * len(noise.samples)


def test_an_expensive_finished_cell_leaves_the_rounds() -> None:
    simulation = Simulation()
    dear, noise = simulation.cell("dear", 0.2), simulation.cell("noisy", noisy(1e-3, 1.0), calls=8)
    run(simulation, [dear, noise], 60.0)
    assert len(dear.samples) == QUICK.rounds < len(noise.samples)


def test_the_limit_ends_cells_that_never_become_precise() -> None:
    simulation = Simulation()
    rng = random.Random(0)
    rounds = run(simulation, [simulation.cell("two-faced", lambda: rng.choice([5e-3, 15e-3]))], limit_s=2.0)
    assert 1.9 < rounds[-1].elapsed_s <= 2.02


def test_after_enough_rounds_precision_has_a_time_limit() -> None:
    rng = random.Random(0)
    budget = msgspec.structs.replace(QUICK, chase_s=1.0)
    simulation = Simulation(budget)
    rounds = run(simulation, [simulation.cell("two-faced", lambda: rng.choice([5e-3, 15e-3]))])
    assert len(rounds) > QUICK.rounds and 1.0 <= rounds[-1].elapsed_s < 1.1
    simulation = Simulation(budget)
    run(simulation, [slow := simulation.cell("slow", 0.25)])
    assert len(slow.samples) == QUICK.rounds


@pytest.mark.parametrize("others", [1, 5])
def test_a_call_longer_than_the_budget_is_measured_once_and_the_others_keep_their_rounds(others: int) -> None:
    simulation = Simulation()
    slow = simulation.cell("slow", 20.0)
    fast = [simulation.cell(f"fast{number}", 1e-3, calls=8) for number in range(others)]
    run(simulation, [slow, *fast], limit_s=6.0)
    assert len(slow.samples) == 1
    assert all(len(cell.samples) >= QUICK.rounds for cell in fast)
    assert simulation.now < 25


def test_a_slow_cell_does_not_starve_the_fast_ones_of_their_rounds() -> None:
    simulation = Simulation()
    slow, fast = simulation.cell("slow", 1.0), [simulation.cell(n, 1e-3, calls=8) for n in "abc"]
    rounds = run(simulation, [slow, *fast], limit_s=6.0)
    assert all(len(cell.samples) >= QUICK.rounds for cell in fast)
    assert 4 <= len(slow.samples) <= 6
    assert rounds[-1].elapsed_s <= 6.5


def test_figures_belong_to_their_cells() -> None:
    simulation = Simulation()
    cell = simulation.cell("a", 1e-3, calls=8)
    event = run(simulation, [cell])[0]
    block = event.blocks[0]
    assert block.per_call_s == pytest.approx(1e-3) and block.latency_s == pytest.approx(1e-3)
    assert event.timed_s == pytest.approx(9e-3)


def test_without_latency_no_further_call_is_made() -> None:
    simulation = Simulation(latency=False)
    event = run(simulation, [simulation.cell("a", 1e-3, calls=8)])[0]
    assert event.blocks[0].latency_s is None and event.timed_s == pytest.approx(8e-3)


def test_reports_are_sent_at_most_four_times_a_second_and_completely() -> None:
    simulation = Simulation()
    rounds = run(simulation, [simulation.cell("a", noisy(1e-3, 1.0), calls=8)], 60.0)
    bursts = sorted(set(simulation.channel.times))
    gaps = [later - earlier for earlier, later in itertools.pairwise(bursts[:-1])]
    assert len(bursts) > 3 and min(gaps) >= EVERY_S - 1e-9
    assert len(rounds) == simulation.bench.rounds


def test_a_moved_canary_repeats_the_round() -> None:
    def song(now: float) -> float:
        return 80e-6 if 0.45 < now < 0.46 else 50e-6

    budget = msgspec.structs.replace(QUICK, rounds=60)
    simulation = Simulation(budget, song_s=song)
    rounds = run(simulation, [simulation.cell("a", 1e-3, calls=8)])
    assert sum(event.repeated for event in rounds) == 1
    assert len(rounds) == budget.rounds


def test_a_canary_that_keeps_moving_does_not_repeat_rounds_endlessly() -> None:
    rng = random.Random(3)
    simulation = Simulation(song_s=lambda now: 50e-6 * rng.choice([1.0, 2.0]))
    made = []
    cell = simulation.cell("a", lambda: made.append(1) or 1e-3, calls=8)
    rounds = run(simulation, [cell])
    assert len(rounds) >= QUICK.rounds
    # A block makes 8 calls, a lead-in call and a latency call. Creating the arm makes one more call.
    blocks = (len(made) - 1) / 10
    assert blocks <= len(rounds) * (1 + REPEATS)
    assert (blocks - len(rounds)) * 10e-3 <= WASTE_SHARE * rounds[-1].elapsed_s + 1e-3


def test_a_lasting_change_of_pace_is_accepted_after_a_while() -> None:
    simulation = Simulation(song_s=lambda now: 50e-6 if now < 0.5 else 60e-6)
    rounds = run(simulation, [simulation.cell("a", noisy(1e-3, 1.0), calls=8)], 60.0)
    assert any(event.repeated for event in rounds)
    assert not any(event.repeated for event in rounds[-20:])


def test_a_cell_that_raises_leaves_and_the_others_continue() -> None:
    simulation = Simulation()
    calls = []

    def break_later() -> float:
        calls.append(1)
        if len(calls) > 50:
            raise ValueError("out of luck")
        return 1e-3

    broken, sound = simulation.cell("broken", break_later, calls=8), simulation.cell("sound", 1e-3, calls=8)
    failures = []
    RoundRobin(
        simulation.bench, [broken, sound], 6.0, lambda cell, error: failures.append((cell, error))
    ).run()
    assert [(cell, str(error)) for cell, error in failures] == [(broken, "out of luck")]
    assert len(sound.samples) == QUICK.rounds
    assert 1 <= len(broken.samples) < QUICK.rounds


def test_a_stop_is_obeyed_before_the_next_block_and_rounds_are_reported() -> None:
    simulation = Simulation()
    visits, building = [], 4

    def stop_at_second() -> float:
        visits.append(1)
        if len(visits) == building + 2:
            simulation.bench.context.cancel("r")
        return 2.0

    cells = [simulation.cell(name, stop_at_second) for name in "abcd"]
    with pytest.raises(Cancelled):
        run(simulation, cells, 60.0)
    (event,) = simulation.channel.of(Round)
    assert len(event.blocks) == len(visits) - building == 2
    assert simulation.bench.elapsed_s == pytest.approx(4.0, rel=0.01)


def test_a_long_block_is_announced() -> None:
    simulation = Simulation()
    run(simulation, [simulation.cell("slow", 1.0), simulation.cell("fast", 1e-3, calls=8)])
    said = simulation.channel.of(Progress)
    assert {event.arm for event in said if event.arm} == {simulation.cell("slow", 1.0).arm.id}
