"""Checks the clock, and checks that a block times a busy-wait (spin) of known length correctly."""

import functools
import math
import statistics
import time
from collections.abc import Sequence

from tuilab.model.quantity import seconds
from tuilab.model.selftest import Check
from tuilab.worker.context import Context
from tuilab.worker.measure.stopwatch import BLOCK_S
from tuilab.worker.selftest.bench import bench, by_round, cell, spin

RESOLUTION_S = 1e-6
RATE, RATE_S = 1e-3, 0.5
SLOPE = 0.01
LENGTHS_S = (50e-6, 200e-6, 1e-3, 5e-3, 20e-3, 100e-3)


def resolution() -> Check:
    steps = []
    for _ in range(20_000):
        first = time.perf_counter_ns()
        while (second := time.perf_counter_ns()) == first:
            pass
        steps.append(second - first)
    finest = min(steps) * 1e-9
    return Check(
        name="clock-resolution",
        figure=finest,
        limit="≤ 1 µs",
        passed=0 < finest <= RESOLUTION_S,
        message=f"the clock resolves {seconds(finest)}",
    )


def rate() -> Check:
    """Check the clock's rate against the system's real-time clock, which is corrected over the network."""
    begun, other = time.perf_counter_ns(), time.clock_gettime_ns(time.CLOCK_REALTIME)
    time.sleep(RATE_S)
    ended, after = time.perf_counter_ns(), time.clock_gettime_ns(time.CLOCK_REALTIME)
    ratio = (ended - begun) / max(1, after - other)
    return Check(
        name="clock-rate",
        figure=ratio,
        limit="1 ± 0.001",
        passed=abs(ratio - 1) <= RATE,
        message=f"over {RATE_S} s it deviates from the time of day by {abs(ratio - 1) * 1e6:.0f} ppm",
    )


def slope(context: Context, *, long: bool) -> Check:
    """Check how accurately the engine's own rounds measure spins of known length, from 50 µs to 100 ms."""
    own = bench(context, rounds=60 if long else 20, limit_s=60.0)
    cells = []
    for length in LENGTHS_S:
        calls = 2 ** max(0, math.ceil(math.log2(BLOCK_S / length)))
        cells.append(cell(f"{length}", functools.partial(spin, length), calls, length))
    rounds = by_round(own, cells)
    read = [statistics.median(each.values()) for each in rounds]
    figure, call_s = fitted(LENGTHS_S, read)
    quickest, _ = fitted(LENGTHS_S, [min(each.values()) for each in rounds])
    message = (
        f"busy waits of {seconds(LENGTHS_S[0])} to {seconds(LENGTHS_S[-1])} were timed: each second of "
        f"waiting adds {figure:.4f} s to the measured time, each call adds {seconds(max(0.0, call_s))}"
    )
    # An interrupted spin is not the clock's fault, so compare the fastest spins, which were interrupted
    # least.
    uneven = figure > 1 + SLOPE and abs(quickest - 1) <= SLOPE
    if uneven:
        message += f"; the machine's speed varies: for the fastest waits, each second adds {quickest:.4f} s"
    return Check(
        name="spin-slope",
        figure=figure,
        limit="1 ± 0.01",
        passed=abs(figure - 1) <= SLOPE or uneven,
        message=message,
    )


def fitted(lengths: Sequence[float], read: Sequence[float]) -> tuple[float, float]:
    """Fit measured = slope · true + constant by least squares of the relative errors. Return the slope, and
    the constant in seconds.

    The equation divided by `true` is a line in 1 / true. The constant is the interpreter's overhead around
    each spin (2% of the shortest spin), not an error of the clock.
    """
    # The standard library fits lines only from Python 3.10 on.
    x, y = [1 / t for t in lengths], [r / t for t, r in zip(lengths, read, strict=True)]
    middle, height = statistics.fmean(x), statistics.fmean(y)
    rise = math.fsum((a - middle) * (b - height) for a, b in zip(x, y, strict=True))
    call_s = rise / math.fsum((a - middle) ** 2 for a in x)
    return height - call_s * middle, call_s
