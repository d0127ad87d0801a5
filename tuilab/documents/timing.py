"""A timed region and the decisions about it.

The judge makes each decision once; rules only read the decisions.
"""

from dataclasses import dataclass
from typing import Literal

from tuilab.documents.interpreter.trace import Context, Region, TraceEvent


@dataclass(frozen=True)
class FirstCall:
    """A first call inside a timing: work that, as far as the document shows, has not run before.

    count: number of times that the timing runs the work; None if unknown. sure: no unknown code can have run
    the work before, and the time is used in a comparison. likely: unknown code can have run the work before,
    but its name suggests that it did not, and the time matters.
    """

    count: int | None
    sure: bool
    likely: bool = False


@dataclass(frozen=True, eq=False)
class Timing:
    """A timed region and the checker's decisions about it. `judge.decide` creates it."""

    region: Region
    events: list[TraceEvent]
    """The events between the two clock readings."""
    begins: Context
    label: str
    """The words printed with the measured time, and the name to which it is bound."""
    role: Literal["benchmark", "log", "progress"]
    """benchmark: the time is a result. log: the time shows how long training or a notebook cell took.
    progress: the code does not show the time.
    """
    extent: Literal["calls", "lap", "total"]
    """lap: the timing starts before a loop and ends inside it. total: it contains other timings. calls:
    anything else.
    """
    trains: bool
    about_speed: bool
    """True if a title or a function name near the timing mentions speed."""
    compared: bool
    counterpart: Region | None
    """The region whose time the document compares with this timing: in a ratio, in a table, or by similar
    labels. Determined only for a timing that may be a log.
    """
    device: str
    """`CPU` or `GPU`, from the device scope or the label; "" if they name no device, or both."""
    work: TraceEvent | None
    """The work that the timing is meant to measure: a graph, a training call, or an op; None if the code does
    not show it.
    """
    unfinished: tuple[TraceEvent, ...]
    """Device work that the code does not wait for before it reads the clock again."""
    repetitions: int | None
    """Number of times that the timing runs the work; None if unknown, or if parts of the work run different
    numbers of times.
    """
    unresolved: tuple[TraceEvent, ...]
    """Unknown calls that may use TensorFlow."""
    cold: FirstCall | None = None
    """The first call in the timing; None if there is none, or if it does not affect the figure."""
