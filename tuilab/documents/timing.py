"""A timed region and the decisions about it, each made once; rules only filter."""

from dataclasses import dataclass
from typing import Literal

from tuilab.documents.interpreter.trace import Context, Region, TraceEvent


@dataclass(frozen=True)
class FirstCall:
    """How the work of a timing, which never ran before, shows in it.

    count: how often the timing runs it; None if not known.
    sure: no unknown code may have run it before, and its time is compared. likely: unknown code may have, but
    its name suggests that it did not, and the time matters.
    """

    count: int | None
    sure: bool
    likely: bool = False


@dataclass(frozen=True, eq=False)
class Timing:
    """A timed region and what the checker has decided about it. `judge.decide` makes it."""

    region: Region
    events: list[TraceEvent]
    """The events between the two readings."""
    begins: Context
    """The place of the first reading."""
    label: str
    """The words printed with the time, and the name that it is bound to."""
    role: Literal["benchmark", "log", "progress"]
    """log: shows how long a training or a cell took. progress: nobody reads it as a figure."""
    extent: Literal["calls", "lap", "total"]
    """lap: spans the iterations of a loop around its end. total: contains other timings."""
    trains: bool
    """A model is trained."""
    about_speed: bool
    """A title or the function's name mentions speed."""
    compared: bool
    """The figure is meant for comparison."""
    counterpart: Region | None
    """If it may be a log, a time that it is compared with: in a ratio, a table, or by similar labels."""
    device: str
    """`CPU` or `GPU`, from the scope or the name; "" if neither or both."""
    work: TraceEvent | None
    """The purpose of the region: a graph, a training, an op; None if not visible."""
    unfinished: tuple[TraceEvent, ...]
    """Device work that nothing waits for before the second reading."""
    repetitions: int | None
    """How often the work runs; None if not known or if parts differ."""
    unresolved: tuple[TraceEvent, ...]
    """Unknown calls that may run TensorFlow."""
    cold: FirstCall | None = None
    """The first call in it; None if its work is warm or its cold start does not show."""
