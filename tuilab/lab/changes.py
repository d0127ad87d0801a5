"""Small types for the lab's state: the kinds of change, the worker's state, and a requested run."""

from dataclasses import dataclass
from enum import Flag, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # imported only for type checking: the first paint does not need it
    from tuilab.model.scenario import BudgetName, Sweep


class Change(Flag):
    """The parts of the lab that an event changed; only these are redrawn."""

    NOTHING = 0
    WORKER = auto()
    RUN = auto()
    REPORT = auto()
    LOG = auto()
    OVER = auto()
    PROGRESS = auto()
    SETTINGS = auto()
    TICK = auto()
    LOOK = auto()
    FIRST = auto()
    """A run's first sample has arrived; the user is waiting for it."""
    FIGURES = RUN | REPORT | OVER | SETTINGS | LOOK


@dataclass
class Worker:
    phase: str = "starting"
    """`starting`, `ready` or `down`."""
    stage: str = "starting the worker"
    since: float = 0.0
    pid: int = 0
    """Process id; 0 if unknown."""
    message: str = ""
    """Why the worker is down, or its last message."""


@dataclass(frozen=True)
class Wanted:
    """A requested run that waits until the worker can measure it."""

    budget: "BudgetName | None"
    """The run's budget; None for the default budget of the lab's state."""
    sweep: "Sweep | None"
    """The run's sweep; None to measure only the current settings."""
    since: float
