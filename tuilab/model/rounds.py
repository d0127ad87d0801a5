"""Many rounds of a run as arrays, which are faster to process than single rounds."""

from array import array
from dataclasses import dataclass


@dataclass(frozen=True)
class CellRounds:
    """The blocks of one arm at one point in several rounds, in order."""

    arm: str
    point: int
    rounds: "array[int] | None"
    """The round's index for each block, from 0; None if every round has one block."""
    calls: "array[int]"
    seconds: "array[float]"
    """Total seconds of the calls in each block."""
    latencies: "array[float]"
    """Seconds of a single call, for each block with such a measurement."""


@dataclass(frozen=True)
class Rounds:
    run: str
    count: int
    cells: tuple[CellRounds, ...]
    canaries: "array[float]"
    """Seconds of the canary (a small fixed workload), for each round that ran it."""
    repeated: int
    timed_s: float
    """Seconds inside timed blocks since the start of the run."""
    elapsed: "array[float]"
    """For each round, the seconds from the start of the process's first round to the end of this round."""
