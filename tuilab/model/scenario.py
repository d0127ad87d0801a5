"""What to measure: a workload and its parameters, the axes, and the budget."""

import math
from typing import Literal

import msgspec

from tuilab.model.parameters import Values
from tuilab.model.shapes import Argument

BudgetName = Literal["quick", "standard", "publish"]
BUDGETS: tuple[BudgetName, ...] = ("quick", "standard", "publish")


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user allows for a model file, and the inputs."""

    trust: bool = False
    """Python in the file may run: Lambda layers, custom objects, graph functions."""
    code: str = ""
    """`/path/to/file.py` that defines custom objects; "" if none."""
    data: str = ""
    """`/path/to/file.npz` or `.tfrecord` with inputs; "" for generated ones."""
    inputs: tuple[Argument, ...] = ()
    """Input shapes, as in `--input`."""


AS_IT_IS = Opening()


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workload and its parameter values.

    For a user's function, `file` is `path/to/file.py:function`, and `workload` is the function's name.
    """

    workload: str
    """Its name."""
    parameters: Values
    """Name to value."""
    file: str = ""
    """`path/to/file.py:function` of the user's code; `model.keras` or `FOLDER:SIGNATURE` of a model."""
    opening: Opening = AS_IT_IS
    """How to open that model."""


class Axis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A numeric parameter and its sweep values, ascending."""

    parameter: str
    """Name of a numeric parameter."""
    values: tuple[int, ...]
    """Ascending."""
    also: tuple[str, ...] = ()
    """Further parameters that take each value with it: the other sides of a square."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter that takes its values, `parameter` first."""
        return (self.parameter, *self.also)

    def at(self, value: int) -> dict[str, int]:
        """Return what its parameters are at one of its values."""
        return dict.fromkeys(self.names, value)


class Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One or two axes. With `refine`, the sweep bisects one axis around a crossover."""

    axes: tuple[Axis, ...]
    """One or two."""
    refine: bool = True
    """Bisect one axis around a crossover until its interval is narrow."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long and how precisely to measure."""

    name: BudgetName
    """`quick`, `standard` or `publish`."""
    warm_s: float
    """Minimum busy seconds of a cell's warm-up (half on a CPU)."""
    warm_limit_s: float
    """Maximum seconds of warm-up."""
    precision: float
    """Half-width of the 95% interval over the median at which a cell is finished."""
    rounds: int
    """Minimum number of rounds."""
    limit_s: float
    """Seconds for the run's rounds, without warm-up."""
    workers: int = 1
    """Number of fresh processes, one after another.

    Six is the smallest number whose range covers the median of processes with 95%, for any distribution.
    """
    forks: int = 0
    """Maximum number of processes if further ones can be forked; stops early once `precision` is reached
    among processes. 0: no forking.
    """
    further_s: float = 0.0
    """Seconds of rounds for each process after the first; 0: equal parts of limit_s."""
    chase_s: float = 0.0
    """Seconds of rounds after which a cell with enough rounds stops; 0 for limit_s."""

    def expected_s(self, arms: int, start_s: float, forked: bool = False) -> float:
        """Estimate the seconds of a one-point run with all its processes.

        start_s: time for a fresh process until TensorFlow is ready. forked: further processes are forked if
        the budget allows. Calls longer than their blocks are not included, because they are not known in
        advance.
        """
        forked = forked and self.forks > 1
        chase_s = self.chase_s or self.limit_s / max(1, self.workers)
        first = arms * (self.warm_s + AROUND_S) + (min(chase_s, FORKED_CHASE_S) if forked else chase_s)
        if not forked:
            return first + (self.workers - 1) * (start_s + (self.further_each_s(arms) or first))
        return first + start_s + (self.forks - 1) * (FORK_S + self.further_each_s(arms, forked))

    def further_each_s(self, arms: int, forked: bool = False) -> float:
        """Estimate the seconds of a short further process; 0 if they are as long as the first."""
        each = SETTLED_WARM_S + FORKED_AROUND_S if forked else FURTHER_WARM_S
        return arms * (each + FURTHER_ROUNDS * BLOCK_S["quick"]) if self.further_s else 0.0

    def for_process(self, index: int) -> "Budget":
        """Return the budget of the process with that index (from 0). Later ones are short and have no
        precision target.

        The interval over processes narrows with their number, so long processes gain little.
        """
        if not self.further_s:
            return msgspec.structs.replace(self, limit_s=self.limit_s / max(1, self.workers))
        if not index:
            return self
        return msgspec.structs.replace(
            self,
            warm_s=min(self.warm_s, FURTHER_WARM_S),
            warm_limit_s=min(self.warm_limit_s, FURTHER_WARM_LIMIT_S),
            precision=math.inf,
            rounds=FURTHER_ROUNDS,
            limit_s=self.further_s,
        )


IMPORT_S = 4.0
"""Estimated import time of a fresh worker, until one has been seen on this machine."""
AROUND_S = 1.0
"""Estimated seconds per arm outside rounds in the first process (first calls, placement, phases), from the
presets on two cores.
"""
BLOCK_S: dict[BudgetName, float] = {"quick": 0.005, "standard": 0.01, "publish": 0.02}
"""Minimum length of a block. Longer blocks average more and leave less time between blocks."""
FURTHER_ROUNDS, FURTHER_WARM_S, FURTHER_WARM_LIMIT_S = 6, 0.4, 1.0
"""For a short process: the fewest rounds that give its median an interval.

More rounds do not reduce differences between processes (docs/measuring.md).
"""
SETTLED_WARM_S, SETTLED_CALLS = 0.05, 16
"""Minimum warm-up of an arm that settled at once in an earlier process.

The first ten calls of 20 ms in a forked process were slower than later ones; short calls were at full speed
after 0.05 s.
"""
FORKED_CHASE_S = 1.5
"""`chase_s` of a first process that is one of twenty."""
FORK_S, FORKED_AROUND_S = 0.15, 0.1
"""Estimated seconds to start and end a forked process, and per arm outside warm-up and rounds."""

BUDGET: dict[BudgetName, Budget] = {
    "quick": Budget(
        name="quick", warm_s=0.3, warm_limit_s=0.7, precision=0.05, rounds=20, limit_s=6.0, chase_s=2.0
    ),
    "standard": Budget(
        name="standard",
        warm_s=1.0,
        warm_limit_s=10.0,
        precision=0.02,
        rounds=20,
        limit_s=60.0,
        workers=7,
        forks=20,
        further_s=4.0,
        chase_s=6.0,
    ),
    "publish": Budget(
        name="publish", warm_s=1.0, warm_limit_s=10.0, precision=0.01, rounds=20, limit_s=200.0, workers=10
    ),
}
