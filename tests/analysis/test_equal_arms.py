"""A crossover is reported only if the new leader stays ahead; noise alone causes no report.

The sweeps are simulated with fixed seeds and a known crossover, or none.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tuilab.analysis.crossover import Timings, next_size
from tuilab.analysis.crossover_words import Pair, crossover
from tuilab.worker.selftest.simulation import noise

SIZES = tuple(256 * 4**i for i in range(7))
PAIR = Pair("a", "b")
FOUND = ("found", "several")

Cost = Callable[[int], float]


def measure(
    rng: np.random.Generator, cost: Cost, size: int, spread: float, lasting: float, rounds: int
) -> dict[int, float]:
    """Return seconds by round, with log-normal noise of `spread`.

    The share `lasting` of the variance shifts all rounds of a size, like a disturbance of a few seconds. The
    rest has an autocorrelation of 0.4.
    """
    shift = rng.standard_normal() * spread * math.sqrt(lasting)
    logs = shift + noise(rng, 1, rounds, spread * math.sqrt(1 - lasting), 0.4)[0]
    return dict(enumerate((cost(size) * np.exp(logs)).tolist()))


def swept(
    rng: np.random.Generator,
    costs: list[Cost],
    spread: float,
    lasting: float,
    rounds: int,
    sizes: tuple[int, ...] = SIZES,
    scatter: float = 0.0,
    drift: float = 0.0,
) -> tuple[Timings, Timings]:
    """Return the timings of the arm that is fastest at the largest size, and of the arm that is fastest at
    the smallest size.

    The search for the crossover may add up to eight sizes. scatter: spread of a log-normal factor for each
    arm and size. drift: autocorrelation of these factors, in the order of measurement.
    """
    shift = np.zeros(len(costs))

    def at(size: int) -> list[dict[int, float]]:
        if scatter:
            shift[:] = drift * shift + math.sqrt(1 - drift**2) * scatter * rng.standard_normal(len(costs))
        every = [measure(rng, cost, size, spread, lasting, rounds) for cost in costs]
        return [{r: s * math.exp(log) for r, s in arm.items()} for log, arm in zip(shift, every, strict=True)]

    arms: list[dict[int, dict[int, float]]] = [{} for _ in costs]
    for size in sizes:
        for arm, times in zip(arms, at(size), strict=True):
            arm[size] = times
    first, last = (
        sorted(arms, key=lambda arm: np.median([*arm[size].values()])) for size in (sizes[0], sizes[-1])
    )
    b = first[0]
    a = next(arm for arm in last if arm is not b)
    for _ in range(8):
        step = next_size(a, b)
        if step.size is None:
            break
        a[step.size], b[step.size] = at(step.size)[:2]
    return a, b


@pytest.mark.parametrize("arms", [2, 3])
@pytest.mark.parametrize("rounds", [5, 20])
@pytest.mark.parametrize("lasting", [0.0, 0.25, 0.5])
def test_at_most_10_of_200_sweeps_of_equal_arms_claim_a_crossover(
    lasting: float, rounds: int, arms: int
) -> None:
    rng = np.random.default_rng(50)
    costs: list[Cost] = [lambda size: 1e-4 + 1e-8 * size] * arms
    claims = 0
    for _ in range(200):
        sweep = swept(rng, costs, rng.uniform(0.05, 0.3), lasting, rounds)
        claims += crossover(*sweep, PAIR).status in FOUND
    assert claims <= 10


@pytest.mark.parametrize("sizes", [SIZES, (1, 4, 16, 64), (16, 64, 256)])
@pytest.mark.parametrize("rounds", [8, 20])
@pytest.mark.parametrize("drift", [0.0, 0.7])
def test_at_most_10_of_200_sweeps_claim_a_crossover_if_each_size_varies_by_30_to_80_percent(
    drift: float, rounds: int, sizes: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(53)
    costs: list[Cost] = [lambda size: 1e-4 + 1e-8 * size] * 2
    claims = 0
    for _ in range(200):
        noise_of = rng.uniform(0.05, 0.3), 0.25, rounds, sizes, rng.uniform(0.3, 0.8), drift
        claims += crossover(*swept(rng, costs, *noise_of), PAIR).status in FOUND
    assert claims <= 10


@pytest.mark.parametrize(("spread", "least"), [(0.05, 98), (0.1, 98), (0.2, 85), (0.3, 40)])
@pytest.mark.parametrize("lasting", [0.0, 0.25])
def test_true_crossovers_are_still_found(lasting: float, spread: float, least: int) -> None:
    rng = np.random.default_rng(51)
    costs: list[Cost] = [lambda size: 3e-4 + 1e-9 * size, lambda size: 1e-4 + 1e-8 * size]
    found = [crossover(*swept(rng, costs, spread, lasting, 20), PAIR) for _ in range(100)]
    assert sum(one.status == "found" and one.a == "a" for one in found) >= least


def test_a_crossover_with_a_small_lead_is_found_on_a_quiet_host() -> None:
    rng = np.random.default_rng(52)
    costs: list[Cost] = [lambda size: 1.3 * (size / 16_384) ** -0.06, lambda size: 1.3]
    found = [crossover(*swept(rng, costs, 0.02, 0.25, 20), PAIR) for _ in range(50)]
    assert sum(one.status == "found" for one in found) >= 48
