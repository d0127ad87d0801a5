"""Simulates trials with a known true value, to find how often the intervals contain it."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuilab.analysis.crossover import Timings, next_size
from tuilab.analysis.crossover_words import Pair, crossover
from tuilab.analysis.ratios import ratio
from tuilab.analysis.statistics import estimate

LIMITS = (0.93, 0.97)
SIZES = tuple(256 * 4**i for i in range(7))

Samples = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Number of trials whose interval contained the true value. A trial without an interval counts as a
    miss.
    """

    covered: int
    trials: int

    @property
    def share(self) -> float:
        return self.covered / self.trials

    @property
    def within_limits(self) -> bool:
        return LIMITS[0] <= self.share <= LIMITS[1]


def noise(rng: np.random.Generator, trials: int, n: int, spread: float, rho: float) -> Samples:
    """Return log noise of shape (trials, n): AR(1) with standard deviation `spread` and autocorrelation
    `rho`.
    """
    steps = rng.standard_normal((trials, n)) * spread
    out = np.empty_like(steps)
    out[:, 0] = steps[:, 0]
    for i in range(1, n):
        out[:, i] = rho * out[:, i - 1] + math.sqrt(1 - rho * rho) * steps[:, i]
    return out


def spikes(rng: np.random.Generator, trials: int, n: int, share: float = 0.03) -> Samples:
    """Return log delays that imitate interruptions, of shape (trials, n): mean 0.3 for a `share` of the
    samples, 0 for the rest.
    """
    return np.where(rng.random((trials, n)) < share, rng.exponential(0.3, (trials, n)), 0.0)


def median_coverage(trials: int = 1_000, n: int = 60, rho: float = 0.4, seed: int = 1) -> Coverage:
    """Return how often the interval contains the median of skewed, autocorrelated samples.

    Samples are 1 + 0.1 e^z, with median 1.1; `n` per trial.
    """
    rng = np.random.default_rng(seed)
    samples = 1 + 0.1 * np.exp(noise(rng, trials, n, 1.0, rho))
    covered = 0
    for row in samples.tolist():
        found = estimate(row)
        if found is not None and found.low is not None and found.high is not None:
            covered += found.low <= 1.1 <= found.high
    return Coverage(covered, trials)


def ratio_coverage(
    trials: int = 1_000, n: int = 40, truth: float = 1.05, rho: float = 0.2, seed: int = 2
) -> Coverage:
    """Return how often the ratio's interval contains the truth, for two arms with a common drift, noise of 3%
    and spikes.
    """
    found = _ratios(trials, n, truth, rho, seed)
    return Coverage(sum(low <= truth <= high for low, high in found), trials)


def differences(
    trials: int = 200, n: int = 20, truth: float = 1.0, rho: float = 0.0, seed: int = 3
) -> Coverage:
    """Return how often two arms are judged different: expected at most 5% for `truth` 1, nearly always for
    1.05.
    """
    found = _ratios(trials, n, truth, rho, seed)
    return Coverage(sum(not low <= 1 <= high for low, high in found), trials)


def _ratios(trials: int, n: int, truth: float, rho: float, seed: int) -> list[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    rounds = noise(rng, trials, n, 0.1, 0.9)
    a, b = (
        np.exp(rounds + noise(rng, trials, n, 0.03, rho) + spikes(rng, trials, n)).tolist() for _ in range(2)
    )
    out = []
    for row_a, row_b in zip(a, b, strict=True):
        found = ratio({i: truth * s for i, s in enumerate(row_a)}, dict(enumerate(row_b)))
        out.append((found and found.interval) or (math.inf, -math.inf))
    return out


@dataclass(frozen=True, slots=True)
class CostLine:
    base_s: float
    each_s: float

    def at(self, size: float) -> float:
        return self.base_s + self.each_s * size


@dataclass
class TwoLines:
    """Two arms whose cost lines cross at a known size, measured with noise of `spread` per round."""

    a: CostLine
    b: CostLine
    spread: float
    rounds: int
    rng: np.random.Generator

    @property
    def crossing(self) -> float:
        return (self.a.base_s - self.b.base_s) / (self.b.each_s - self.a.each_s)

    def measure(self, size: int) -> tuple[dict[int, float], dict[int, float]]:
        shared = noise(self.rng, 1, self.rounds, 0.05, 0.9)[0]
        logs = [shared + noise(self.rng, 1, self.rounds, self.spread, 0.0)[0] for _ in range(2)]
        a, b = (
            (line.at(size) * np.exp(log)).tolist() for line, log in zip((self.a, self.b), logs, strict=True)
        )
        return dict(enumerate(a)), dict(enumerate(b))


def crossover_coverage(
    trials: int = 300, spread: float = 0.03, rounds: int = 20, refine: int = 6, seed: int = 4
) -> Coverage:
    """Return how often the crossover's interval contains the truth.

    Each trial sweeps sizes in steps of 4, then adds up to `refine` sizes chosen by `next_size`. The cost
    lines of the two arms, a and b, cross at sizes spread evenly (in log) over 700 to 300,000; a's base cost
    is 2 to 20 times b's, and b's cost per sample is 3 to 30 times a's.
    """
    rng = np.random.default_rng(seed)
    covered = 0
    for _ in range(trials):
        lines = two_lines(rng, spread, rounds)
        found = crossover(*sweep(lines, refine), Pair("a", "b"))
        if found.status == "found" and found.ci95 is not None:
            covered += found.ci95[0] <= lines.crossing <= found.ci95[1]
    return Coverage(covered, trials)


def two_lines(rng: np.random.Generator, spread: float, rounds: int) -> TwoLines:
    size = math.exp(rng.uniform(math.log(700), math.log(300_000)))
    base, slope = math.exp(rng.uniform(math.log(2), math.log(20))), rng.uniform(3, 30)
    each = (base - 1) * 1e-4 / (size * (1 - 1 / slope))
    return TwoLines(CostLine(base * 1e-4, each / slope), CostLine(1e-4, each), spread, rounds, rng)


def sweep(lines: TwoLines, refine: int) -> tuple[Timings, Timings]:
    """Return simulated timings of a sweep, with up to `refine` sizes added until noise dominates.

    If a sweep stops earlier, its intervals also cover the uncertainty of interpolation, so more than 95% of
    them contain the truth.
    """
    a: dict[int, dict[int, float]] = {}
    b: dict[int, dict[int, float]] = {}
    for size in SIZES:
        a[size], b[size] = lines.measure(size)
    for _ in range(refine):
        step = next_size(a, b, precision=0.01)
        if step.size is None:
            break
        a[step.size], b[step.size] = lines.measure(step.size)
    return a, b
