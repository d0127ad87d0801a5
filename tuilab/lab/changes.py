"""Small types for the lab's state: the kinds of change, the worker's state, and a requested run."""

from dataclasses import dataclass
from enum import Flag, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # imported only for type checking, because the first paint does not need this module
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
    """A run's first sample has arrived. The user is waiting for this sample."""
    FIGURES = RUN | REPORT | OVER | SETTINGS | LOOK


@dataclass
class Worker:
    phase: str = "starting"
    """`starting`, `ready` or `down`."""
    stage: str = "starting the worker"
    since: float = 0.0
    pid: int = 0
    message: str = ""
    """Why the worker is down, or the worker's last message."""


@dataclass(frozen=True)
class Wanted:
    """A run that the user requested before the worker could measure it."""

    budget: "BudgetName | None"
    """None for the default budget of the lab's state."""
    sweep: "Sweep | None"
    """None to measure only the current settings."""
    since: float
