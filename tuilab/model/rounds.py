"""Holds many rounds of a run as arrays, so that they need not be processed one by one."""

from array import array
from dataclasses import dataclass


@dataclass(frozen=True)
class CellRounds:
    """Blocks of one arm at one point over several rounds, in order."""

    arm: str
    point: int
    rounds: "array[int] | None"
    """Round index of each block, from 0; None if every round has one block."""
    calls: "array[int]"
    seconds: "array[float]"
    """Seconds of each block, for all its calls together."""
    latencies: "array[float]"
    """Seconds of the single calls, for blocks that have one."""


@dataclass(frozen=True)
class Rounds:
    run: str
    count: int
    cells: tuple[CellRounds, ...]
    canaries: "array[float]"
    """Seconds of the canary (a small fixed workload), for rounds that have one."""
    repeated: int
    timed_s: float
    """Total seconds inside timed blocks, from the start of the run to the end of these rounds."""
    elapsed: "array[float]"
    """For each round, the seconds from the start of its process's first round to its end."""
