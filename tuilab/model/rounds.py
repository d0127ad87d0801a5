"""Many rounds of a run at once, as arrays: what a run's state takes in without a look at each."""

from array import array
from dataclasses import dataclass


@dataclass(frozen=True)
class CellRounds:
    """The blocks of one arm at one point over some rounds, in the order they came."""

    arm: str
    point: int
    rounds: "array[int] | None"
    """Which of the rounds each block belongs to, from 0; None if there is one in every round."""
    calls: "array[int]"
    seconds: "array[float]"
    """Of each block, all its calls together."""
    latencies: "array[float]"
    """Seconds of the single calls alongside the blocks, of those that have one."""


@dataclass(frozen=True)
class Rounds:
    """Consecutive rounds of one run."""

    run: str
    count: int
    cells: tuple[CellRounds, ...]
    canaries: "array[float]"
    """Seconds, of the rounds that have one."""
    repeated: int
    timed_s: float
    """Seconds inside timed blocks, of the run from its beginning up to the last of these rounds."""
    elapsed_s: float
    """Since the run's rounds began, at the end of the last."""
