"""What changes in the lab: kinds of change, the worker's state, a run that is wanted."""

from dataclasses import dataclass
from enum import Flag, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuilab.model.scenario import BudgetName, Sweep  # after the first paint


class Change(Flag):
    """What an event changed, so that only that is drawn."""

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
    """A run's first sample is there, which a user waits for."""
    FIGURES = RUN | REPORT | OVER | SETTINGS | LOOK
    """Whatever changes figures on the screen, or which of them show."""


@dataclass
class Worker:
    """The measuring process as it is now."""

    phase: str = "starting"
    """starting, ready or down."""
    stage: str = "starting the worker"
    """What it does, in words."""
    since: float = 0.0
    """When this stage began, by the state's clock."""
    pid: int = 0
    """The id of its process, 0 until it is known."""
    message: str = ""
    """Why it is down, or what it said last."""


@dataclass(frozen=True)
class Wanted:
    """A run to begin as soon as the worker can."""

    budget: "BudgetName | None"
    """None for the state's own."""
    sweep: "Sweep | None"
    """None for the present settings alone."""
    since: float
    """By the state's clock."""
