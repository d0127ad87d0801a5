"""What is to be measured: a workload with its parameters, along which axes, with how much patience."""

import math
from typing import Literal

import msgspec

from tuilab.model.parameters import Values

BudgetName = Literal["quick", "standard", "publish"]
BUDGETS: tuple[BudgetName, ...] = ("quick", "standard", "publish")


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workload and the value of each of its parameters.

    `file` is set for a user's own function: `path/to/file.py:function`; `workload` is then its name.
    """

    workload: str
    """Its name."""
    parameters: Values
    """Name to value."""
    file: str = ""
    """`path/to/file.py:function` of a user's own code."""


class Axis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A numeric parameter and the values that a sweep gives it, ascending."""

    parameter: str
    """Its name; numeric."""
    values: tuple[int, ...]
    """Ascending."""


class Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One or two axes. With `refine`, one axis is bisected around a crossover until it is known well."""

    axes: tuple[Axis, ...]
    """One or two."""
    refine: bool = True
    """One axis is bisected around a crossover until it is known well."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long to measure and how well."""

    name: BudgetName
    """`quick`, `standard` or `publish`."""
    warm_s: float
    """Busy seconds of warm-up for a cell, at least (half of it on a CPU)."""
    warm_limit_s: float
    """At most."""
    precision: float
    """Half-width of the 95 % interval over the median at which a cell is done."""
    rounds: int
    """The fewest rounds."""
    limit_s: float
    """Seconds for the run's rounds (warm-up not counted)."""
    workers: int = 1
    """Fresh processes to measure in, one after another. Six are the fewest of whose medians the range holds
    the median of processes with 95 %, whatever their distribution."""
    further_s: float = 0.0
    """Seconds of rounds of each process after the first; 0: all have an equal part of limit_s."""
    chase_s: float = 0.0
    """Seconds of rounds after which a cell that has its rounds is left as precise as it is; 0 for limit_s."""

    def of_process(self, index: int) -> "Budget":
        """What the process of that index (from 0) is to do; a later one is short and has no aim of its own.

        An interval of processes is as narrow as there are many of them: long ones add little.
        """
        if not self.further_s:
            return msgspec.structs.replace(self, limit_s=self.limit_s / max(1, self.workers))
        if not index:
            return self
        return msgspec.structs.replace(
            self,
            warm_s=min(self.warm_s, FURTHER_WARM_S),
            warm_limit_s=min(self.warm_limit_s, self.further_s),
            precision=math.inf,
            rounds=FURTHER_ROUNDS,
            limit_s=self.further_s,
        )


FURTHER_ROUNDS, FURTHER_WARM_S = 10, 0.3

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
        further_s=4.0,
        chase_s=6.0,
    ),
    "publish": Budget(
        name="publish", warm_s=1.0, warm_limit_s=10.0, precision=0.01, rounds=20, limit_s=200.0, workers=10
    ),
}
