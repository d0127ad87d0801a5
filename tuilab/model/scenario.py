"""What a run measures: a workload with its parameters, the sweep axes, and the budget."""

import math
from typing import Literal

import msgspec

from tuilab.model.parameters import Values
from tuilab.model.shapes import Argument

BudgetName = Literal["quick", "standard", "publish"]
BUDGETS: tuple[BudgetName, ...] = ("quick", "standard", "publish")


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The user's permissions for a model file, and its inputs."""

    trust: bool = False
    """True if Python code in the file may run: Lambda layers, custom objects, graph functions."""
    code: str = ""
    """Path of a Python file that defines custom objects; "" if none."""
    data: str = ""
    """Path of a `.npz` or `.tfrecord` file with inputs; "" for generated inputs."""
    inputs: tuple[Argument, ...] = ()
    """Input shapes, as in `--input`."""


AS_IT_IS = Opening()


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workload and its parameter values.

    For a user's function, `file` is `path/to/file.py:function`, and `workload` is the function's name.
    """

    workload: str
    """Name of the workload, or of the user's function."""
    parameters: Values
    """Parameter values by name."""
    file: str = ""
    """`path/to/file.py:function` for the user's code; `model.keras` or `FOLDER:SIGNATURE` for a model."""
    opening: Opening = AS_IT_IS
    """The user's permissions for the model in `file`, and the model's inputs."""


class Axis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A numeric parameter, and its values in a sweep."""

    parameter: str
    """Name of the swept parameter, which is numeric."""
    values: tuple[int, ...]
    """The parameter's values in the sweep, ascending."""
    also: tuple[str, ...] = ()
    """Parameters that take the value of `parameter` at each point, such as the second side of a square."""

    @property
    def names(self) -> tuple[str, ...]:
        """All parameters that the axis sets, `parameter` first."""
        return (self.parameter, *self.also)

    def at(self, value: int) -> dict[str, int]:
        return dict.fromkeys(self.names, value)


class Sweep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sweep over one or two parameters."""

    axes: tuple[Axis, ...]
    """The sweep's axes, one or two."""
    refine: bool = True
    """Whether to bisect one axis around a crossover until the crossover's interval is narrow."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The time limits and the precision target of a measurement."""

    name: BudgetName
    """`quick`, `standard` or `publish`."""
    warm_s: float
    """Minimum busy seconds of an arm's warm-up on a GPU; a CPU arm needs half."""
    warm_limit_s: float
    """Maximum seconds of an arm's warm-up."""
    precision: float
    """The target for half of an arm's 95% interval divided by its median."""
    rounds: int
    """Minimum number of rounds."""
    limit_s: float
    """Maximum seconds of the run's rounds, without warm-up."""
    workers: int = 1
    """Number of fresh processes, started one after another. With six, the range of their medians contains
    the median of all processes with 95% probability, for any distribution.
    """
    forks: int = 0
    """Maximum number of processes if they can be forked; 0: no forking. The run stops earlier if the
    interval over processes reaches `precision`.
    """
    further_s: float = 0.0
    """Seconds of rounds in each process after the first; 0: all processes share `limit_s` equally."""
    chase_s: float = 0.0
    """Seconds after which an arm with enough rounds stops, even if it is not precise; 0: `limit_s`."""

    @property
    def most_processes(self) -> int:
        return max(self.workers, self.forks)

    def expected_s(self, arms: int, start_s: float, forked: bool = False) -> float:
        """Estimate the seconds of a run at a single point, with all its processes.

        Assumes that a call takes no longer than a block. start_s: seconds until TensorFlow is ready in a
        fresh process. forked: True if the processes after the first can be forked.
        """
        forked = forked and self.forks > 1
        chase_s = self.chase_s or self.limit_s / max(1, self.workers)
        first = arms * (self.warm_s + AROUND_S) + (min(chase_s, FORKED_CHASE_S) if forked else chase_s)
        if not forked:
            return first + (self.workers - 1) * (start_s + (self.further_each_s(arms) or first))
        return first + start_s + (self.forks - 1) * (FORK_S + self.further_each_s(arms, forked))

    def further_each_s(self, arms: int, forked: bool = False) -> float:
        """Estimate the seconds of each process after the first; 0 if the budget does not shorten these
        processes.
        """
        each = SETTLED_WARM_S + FORKED_AROUND_S if forked else FURTHER_WARM_S
        return arms * (each + FURTHER_ROUNDS * BLOCK_S["quick"]) if self.further_s else 0.0

    def for_process(self, index: int) -> "Budget":
        """Return the budget of the process with that index, from 0.

        Processes after the first are short, because the interval over processes narrows with the number of
        processes, not with their length.
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


STEPS_AT_ONCE = 32
"""Number of steps per call that `tuilab watch` advises for small batches, and tries on a captured step."""
IMPORT_S = 4.0
"""Estimated seconds to import TensorFlow in a fresh worker, until this time is measured on this machine."""
AROUND_S = 1.0
"""Estimated seconds per arm outside rounds in the first process (first calls, placement, phases), as
measured with the presets on two cores.
"""
BLOCK_S: dict[BudgetName, float] = {"quick": 0.005, "standard": 0.01, "publish": 0.02}
"""Minimum seconds of a block. Longer blocks average over more calls, and waste less time between blocks."""
FURTHER_ROUNDS, FURTHER_WARM_S, FURTHER_WARM_LIMIT_S = 6, 0.4, 1.0
"""The number of rounds, and the minimum and maximum warm-up in seconds, of a short process.

Six is the smallest number of rounds for which the median has an interval. More rounds would not reduce the
differences between processes (docs/measuring.md).
"""
SETTLED_WARM_S, SETTLED_CALLS = 0.05, 16
"""Minimum warm-up, in seconds and calls, of an arm that was at full speed from the start in an earlier
process.

In a forked process, the first ten calls of 20 ms were slower than later ones; short calls were at full speed
after 0.05 s.
"""
FORKED_CHASE_S = 1.5
"""Maximum `Budget.chase_s` of a run's first process if the processes after it are forked."""
FORK_S, FORKED_AROUND_S = 0.15, 0.1
"""Estimated seconds to start and end a forked process; estimated seconds per arm of that process, outside
warm-up and rounds.
"""

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
