"""A timed region and the decisions about it.

The judge makes each decision once; rules only read the decisions.
"""

from dataclasses import dataclass
from typing import Literal

from tuilab.documents.interpreter.trace import Context, Region, TraceEvent


@dataclass(frozen=True)
class FirstCall:
    """A first call inside a timing: the document shows no earlier run of the timed work.

    count: number of times that the timing runs the work; None if unknown. sure: no unknown code can have run
    the work before, and the time is used in a comparison. likely: unknown code could have run the work, but
    its name suggests that it did not, and the time matters.
    """

    count: int | None
    sure: bool
    likely: bool = False


@dataclass(frozen=True, eq=False)
class Timing:
    """A timed region and the checker's decisions about it. `judge.decide` creates it."""

    region: Region
    events: list[TraceEvent]
    """Events between the two clock readings."""
    begins: Context
    label: str
    """The words printed with the measured time, and the name to which it is bound."""
    role: Literal["benchmark", "log", "progress"]
    """benchmark: a result. log: the time shows how long training or a cell took. progress: no code shows the
    time.
    """
    extent: Literal["calls", "lap", "total"]
    """lap: starts before a loop and ends inside the loop. total: contains other timings. calls: all others.
    """
    trains: bool
    """True if the region trains a model."""
    about_speed: bool
    """True if a title or the function's name mentions speed."""
    compared: bool
    """True if the figure is meant for comparison."""
    counterpart: Region | None
    """The timing with which the document compares this one, in a ratio, in a table, or by similar labels.
    None unless this timing may be a log.
    """
    device: str
    """`CPU` or `GPU`, as named by the scope or the label; "" if they name neither or both."""
    work: TraceEvent | None
    """The work that the region is meant to time: a graph, a training call, an op; None if not visible."""
    unfinished: tuple[TraceEvent, ...]
    """Device work that the code does not wait for before the second reading."""
    repetitions: int | None
    """Number of times that the work runs; None if unknown, or if its parts run different numbers of times."""
    unresolved: tuple[TraceEvent, ...]
    """Unknown calls that may run TensorFlow."""
    cold: FirstCall | None = None
    """The first call in the region; None if the work is warm, or if a cold start does not affect the figure.
    """
