"""Many rounds of a run as arrays, so that a run's state need not process each one."""

from array import array
from dataclasses import dataclass


@dataclass(frozen=True)
class CellRounds:
    """Blocks of one arm at one point over several rounds, in order."""

    arm: str
    point: int
    rounds: "array[int] | None"
    """Round index of each block, from 0; None if every round has one."""
    calls: "array[int]"
    seconds: "array[float]"
    """Seconds of each block, all calls together."""
    latencies: "array[float]"
    """Seconds of the single calls, for blocks that have one."""


@dataclass(frozen=True)
class Rounds:
    """Consecutive rounds of one run."""

    run: str
    count: int
    cells: tuple[CellRounds, ...]
    canaries: "array[float]"
    """Seconds, for rounds that have a canary."""
    repeated: int
    timed_s: float
    """Total seconds inside timed blocks, from the start of the run to the last of these rounds."""
    elapsed_s: float
    """Seconds from the first round to the end of the last."""
