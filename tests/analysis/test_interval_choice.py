"""Where the lab's intervals depart from the plainer ones: on noise where those fail, and these hold."""

import math
from itertools import pairwise

import numpy as np
import pytest

from tuilab.analysis.crossover import Timings, crossings, places
from tuilab.analysis.ratios import log_ratios
from tuilab.analysis.statistics import t_quantile
from tuilab.worker.selftest.simulation import differences, noise, spikes, sweep, two_lines


def plain_interval(logs: list[float]) -> tuple[float, float]:
    """Mean ± t · s / √n."""
    mean, n = math.fsum(logs) / len(logs), len(logs)
    spread = math.sqrt(sum((x - mean) ** 2 for x in logs) / (n - 1))
    half = t_quantile(0.975, n - 1) * spread / math.sqrt(n)
    return mean - half, mean + half


def crossing_of_each_round(a: Timings, b: Timings) -> list[float]:
    """Per round the log of the size at which the log ratio, linear in log size, changes its sign first."""
    sizes = sorted(a)
    rows = zip(*(log_ratios(a[x], b[x]) for x in sizes), strict=True)
    out = []
    for row in rows:
        for (x, here), (y, there) in pairwise(zip(sizes, row, strict=True)):
            if here > 0 >= there:
                out.append(math.log(x) + here / (here - there) * math.log(y / x))
                break
    return out


@pytest.mark.parametrize(("spread", "refine", "plain_at_most"), [(0.03, 0, 0.7), (0.2, 6, 0.93)])
def test_one_crossing_a_round_misses_where_the_band_around_the_mean_holds(
    spread: float, refine: int, plain_at_most: float
) -> None:
    rng = np.random.default_rng(5)
    trials, plain, ours = 300, 0, 0
    for _ in range(trials):
        lines = two_lines(rng, spread, rounds=20)
        a, b = sweep(lines, refine)
        low, high = plain_interval(crossing_of_each_round(a, b))
        plain += low <= math.log(lines.crossing) <= high
        found = crossings(places(a, b))
        ours += len(found) == 1 and found[0].low <= lines.crossing <= found[0].high
    assert plain / trials < plain_at_most
    assert ours / trials >= 0.93


def test_a_plain_mean_loses_a_slowdown_among_spikes_that_a_trimmed_one_finds() -> None:
    rng = np.random.default_rng(6)
    n, trials = 20, 300
    a, b = (noise(rng, trials, n, 0.03, 0) + spikes(rng, trials, n) for _ in range(2))
    plain = sum(plain_interval(row)[0] > 0 for row in (a - b + math.log(1.05)).tolist())
    assert plain / trials < 0.8
    assert differences(trials, n, 1.05).share > 0.9


def test_an_interval_for_independent_samples_misses_where_samples_follow_each_other() -> None:
    rows = noise(np.random.default_rng(7), 300, 60, 0.03, 0.6).tolist()
    held = sum(low <= 0 <= high for low, high in map(plain_interval, rows))
    assert held / 300 < 0.8
