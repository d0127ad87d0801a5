"""What changes in the lab: kinds of change, the worker's state, a run that is wanted."""

from dataclasses import dataclass
from enum import Flag, auto

from tuilab.model.scenario import BudgetName, Sweep


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
    """A run's first sample is there, which a person waits for."""


@dataclass
class Worker:
    """The measuring process as it is now. since: when the present stage began, by the session's clock."""

    phase: str = "starting"
    stage: str = "starting the worker"
    since: float = 0.0
    pid: int = 0
    message: str = ""


@dataclass(frozen=True)
class Wanted:
    """A run to begin as soon as the worker can. since: by the session's clock."""

    budget: BudgetName | None
    sweep: Sweep | None
    since: float
