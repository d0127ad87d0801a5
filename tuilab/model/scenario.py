"""What is to be measured: a workload with its parameters, along which axes, with how much patience."""

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
    parameters: Values
    file: str = ""


class Axis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A numeric parameter and the values that a sweep gives it, ascending."""

    parameter: str
    values: tuple[int, ...]


class Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One or two axes. With `refine`, one axis is bisected around a crossover until it is known well."""

    axes: tuple[Axis, ...]
    refine: bool = True


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long to measure and how well.

    warm_s: busy seconds of warm-up for a cell, at least (half of it on a CPU). warm_limit_s: at most.
    precision: half-width of the 95 % interval over the median at which a cell is done.
    rounds: the fewest rounds. limit_s: seconds for the run's rounds (warm-up not counted).
    chase_s: seconds of rounds after which a cell that has its rounds is left as precise as it is; 0 for
    limit_s.
    workers: fresh processes to measure in.
    """

    name: BudgetName
    warm_s: float
    warm_limit_s: float
    precision: float
    rounds: int
    limit_s: float
    workers: int = 1
    chase_s: float = 0.0


BUDGET: dict[BudgetName, Budget] = {
    "quick": Budget(
        name="quick", warm_s=0.3, warm_limit_s=0.7, precision=0.05, rounds=20, limit_s=6.0, chase_s=2.0
    ),
    "standard": Budget(
        name="standard", warm_s=1.0, warm_limit_s=10.0, precision=0.02, rounds=20, limit_s=60.0
    ),
    "publish": Budget(
        name="publish", warm_s=1.0, warm_limit_s=10.0, precision=0.01, rounds=40, limit_s=180.0, workers=3
    ),
}
