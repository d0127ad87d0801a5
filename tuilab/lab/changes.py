"""Small types for the lab's state: the kinds of change, the worker's state, and a requested run."""

from dataclasses import dataclass
from enum import Flag, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # imported only for type checking: the first paint does not need it
    from tuilab.model.scenario import BudgetName, Sweep


class Change(Flag):
    """The part of the lab that an event changed, so that only that part is redrawn."""

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
    """Changes that affect the figures on the screen."""


@dataclass
class Worker:
    """The current state of the measuring process."""

    phase: str = "starting"
    """starting, ready or down."""
    stage: str = "starting the worker"
    """The worker's current activity, in words."""
    since: float = 0.0
    """Start of this stage, on the state's clock."""
    pid: int = 0
    """Process id; 0 until it is known."""
    message: str = ""
    """The reason why the worker is down, or its last message."""


@dataclass(frozen=True)
class Wanted:
    """A requested run that starts as soon as the worker can measure it."""

    budget: "BudgetName | None"
    """The run's budget; None for the state's budget."""
    sweep: "Sweep | None"
    """The run's sweep; None for the current settings alone."""
    since: float
    """Time of the request, on the state's clock."""
