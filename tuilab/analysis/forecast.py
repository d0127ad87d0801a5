"""Forecasts how precise a run becomes if more processes measure it, from the way its own rounds vary.

An interval narrows with the square root of the number of rounds only if the rounds are independent. On a busy
host, the momentary load can set the speed of a whole process, so the rounds of one process do not show the
full variation.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence

from tuilab.analysis.processes import estimate_of, process_medians
from tuilab.analysis.reading import measured, summary_point
from tuilab.analysis.statistics import MIN_SAMPLES, at_rank, median, rank_of_low_end
from tuilab.model.run import ArmSamples, RunState
from tuilab.model.scenario import FURTHER_ROUNDS

GAIN = 0.5
"""A forecast is given only if the interval is expected to narrow by at least this share of the narrowing for
independent rounds.
"""
KEPT = 1.25
"""A forecast counts as met if the interval is at most this multiple of the forecast."""
BUSY = {"cpu-contention", "canary"}
SLOW = BUSY | {"throttled", "gpu-shared", "drift", "two-levels"}
"""Caveats about noise that lasts longer than a round. A run of few processes does not show the full range of
such noise.
"""


def forecast(state: RunState, processes: int) -> float | None:
    """Return the expected half-width, relative to the median, of the widest interval after `processes`
    processes; None if no interval is expected to narrow.
    """
    point = summary_point(state)
    cells = [arm.cells[point] for arm in measured(state, point)]
    if not cells or _missed(state, cells):
        return None
    return _forecast(state, cells, processes)


def _forecast(state: RunState, cells: Sequence[ArmSamples], processes: int) -> float | None:
    present = [_half_width(cell) for cell in cells]
    known = [half for half in present if half is not None]
    if len(known) < len(cells) or (_few(cells) and codes(state) & SLOW):
        return None
    expected = max(_expected(cell, processes) for cell in cells)
    return expected if expected <= max(known) * _narrower(cells, processes) else None


def obstacle(state: RunState) -> tuple[str, str]:
    if codes(state) & BUSY:
        return "while the host is busy", "try again when the host is quiet"
    return "while the speed changes this much", "try again later"


def codes(state: RunState) -> set[str]:
    return {flag.code for flag in (*state.flags, *(f for arm in state.arms.values() for f in arm.flags))}


def _narrower(cells: Sequence[ArmSamples], processes: int) -> float:
    """Return the maximum ratio of an interval's new width to its old width that counts as narrower."""
    return 1 - GAIN * (1 - math.sqrt((1 + len(cells[0].begun)) / processes))


def _few(cells: Sequence[ArmSamples]) -> bool:
    return min(len(process_medians(cell)) for cell in cells) < MIN_SAMPLES


def _half_width(cell: ArmSamples) -> float | None:
    found = estimate_of(cell)
    return None if found is None else found.relative_half_width


def _expected(cell: ArmSamples, processes: int) -> float:
    """Return the expected relative half-width of an arm's interval after `processes` processes.

    The interval runs between two ranks of the process medians. Their values are read from the present
    medians, or, with fewer than six processes, from medians of as many rounds as one process adds.
    """
    medians = [m.mean for m in process_medians(cell)]
    if len(medians) < MIN_SAMPLES:
        windows = range(max(1, len(cell.samples) - FURTHER_ROUNDS + 1))
        found = (median(cell.samples[at : at + FURTHER_ROUNDS]) for at in windows)
        medians = [math.log(middle) for middle in found if middle]
    if not medians:
        return math.inf
    ascending, rank = sorted(medians), rank_of_low_end(processes)
    share = int(rank or 1) / (processes + 1) * (len(ascending) + 1)
    centre = at_rank(ascending, (len(ascending) + 1) / 2)
    ends = [at_rank(ascending, place) - centre for place in (share, len(ascending) + 1 - share)]
    return (math.exp(ends[1]) - math.exp(ends[0])) / 2


def _missed(state: RunState, cells: Sequence[ArmSamples]) -> bool:
    """Return True if the last continuation narrowed the interval much less than its forecast."""
    before = [_before(cell) for cell in cells]
    now = [_half_width(cell) for cell in cells]
    earlier = [_half_width(cell) for cell in before if cell is not None]
    if len(earlier) < len(cells) or None in now or None in earlier:
        return False
    reached = max(half for half in now if half is not None)
    cells_before, processes = [cell for cell in before if cell is not None], 1 + len(cells[0].begun)
    promised = _forecast(state, cells_before, processes)
    if promised is None:
        return reached > max(half for half in earlier if half is not None) * _narrower(
            cells_before, processes
        )
    return reached > KEPT * promised


def _before(cell: ArmSamples) -> ArmSamples | None:
    """Return the arm's samples before the last continuation, which begins in a fresh process; None for a run
    without continuation.
    """
    fresh = [index for index, zygote in enumerate(cell.zygotes) if zygote < 0]
    if not fresh:
        return None
    last = fresh[-1] if len(fresh) < len(cell.zygotes) else len(fresh) // 2
    end = bisect_left(cell.rounds, cell.begun[last])
    return ArmSamples(
        samples=cell.samples[:end],
        rounds=cell.rounds[:end],
        begun=cell.begun[:last],
        zygotes=cell.zygotes[:last],
    )
