"""What is to be measured: a workload with its parameters, along which axes, with how much patience."""

import math
from typing import Literal

import msgspec

from tuilab.model.parameters import Values
from tuilab.model.shapes import Argument

BudgetName = Literal["quick", "standard", "publish"]
BUDGETS: tuple[BudgetName, ...] = ("quick", "standard", "publish")


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a user allows a model file, and gives it or a function of their own."""

    trust: bool = False
    """Python in the file may run: Lambda layers, custom objects, functions of its graph."""
    code: str = ""
    """`/path/to/file.py` that defines its custom objects, "" for none."""
    data: str = ""
    """`/path/to/file.npz` or `.tfrecord` with its inputs, "" for made ones."""
    inputs: tuple[Argument, ...] = ()
    """The shapes of its inputs, as `--input` gives them."""


AS_IT_IS = Opening()


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workload and the value of each of its parameters.

    `file` is set for a user's own function: `path/to/file.py:function`; `workload` is then its name.
    """

    workload: str
    """Its name."""
    parameters: Values
    """Name to value."""
    file: str = ""
    """`path/to/file.py:function` of a user's own code; `model.keras` or `FOLDER:SIGNATURE` of a model."""
    opening: Opening = AS_IT_IS
    """How that model is opened."""


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
    """Half-width of the 95% interval over the median at which a cell is done."""
    rounds: int
    """The fewest rounds."""
    limit_s: float
    """Seconds for the run's rounds (warm-up not counted)."""
    workers: int = 1
    """Fresh processes to measure in, one after another. Six are the fewest of whose medians the range holds
    the median of processes with 95%, whatever their distribution."""
    forks: int = 0
    """Processes to measure in where further ones can be forked, at most: no more once `precision` is reached
    among processes. 0: they are not forked."""
    further_s: float = 0.0
    """Seconds of rounds of each process after the first; 0: all have an equal part of limit_s."""
    chase_s: float = 0.0
    """Seconds of rounds after which a cell that has its rounds is left as precise as it is; 0 for limit_s."""

    def expected_s(self, arms: int, start_s: float, forked: bool = False) -> float:
        """Work out about how long a run of one point takes, all its processes together; seconds.

        start_s: what a fresh process needs until TensorFlow is ready. forked: further ones are, where the
        budget says so. Calls that outlast their blocks come on top: nobody knows them before.
        """
        forked = forked and self.forks > 1
        chase_s = self.chase_s or self.limit_s / max(1, self.workers)
        first = arms * (self.warm_s + AROUND_S) + (min(chase_s, FORKED_CHASE_S) if forked else chase_s)
        if not forked:
            return first + (self.workers - 1) * (start_s + (self.further_each_s(arms) or first))
        return first + start_s + (self.forks - 1) * (FORK_S + self.further_each_s(arms, forked))

    def further_each_s(self, arms: int, forked: bool = False) -> float:
        """Work out about how long a short further process measures; 0 if they are as long as the first."""
        each = SETTLED_WARM_S + FORKED_AROUND_S if forked else FURTHER_WARM_S
        return arms * (each + FURTHER_ROUNDS * BLOCK_S["quick"]) if self.further_s else 0.0

    def of_process(self, index: int) -> "Budget":
        """Return what the process of that index (from 0) is to do; a later one is short and has no aim of its
        own.

        An interval of processes is as narrow as there are many of them: long ones add little.
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
"""About how long a fresh worker imports TensorFlow, until one of this machine has."""
AROUND_S = 1.0
"""About what an arm takes alongside its rounds in the first process (first calls, placement, phases), as seen
for the presets on two cores."""
BLOCK_S: dict[BudgetName, float] = {"quick": 0.005, "standard": 0.01, "publish": 0.02}
"""The least length of a block: longer ones leave less to the calls between them, and average more."""
FURTHER_ROUNDS, FURTHER_WARM_S, FURTHER_WARM_LIMIT_S = 6, 0.4, 1.0
"""Of a short process: the fewest rounds of which its median has an interval, since more of them do not narrow
what differs between processes (docs/measuring.md)."""
SETTLED_WARM_S, SETTLED_CALLS = 0.05, 16
"""Of its warm-up, at least, for an arm that settled at once in an earlier process of the run: a forked one's
first ten calls of 20 ms were slower than later ones, and of short calls none after 0.05 s."""
FORKED_CHASE_S = 1.5
"""`chase_s` of a first process that is one of twenty."""
FORK_S, FORKED_AROUND_S = 0.15, 0.1
"""About what a forked process takes to start and end, and each of its arms alongside warm-up and rounds."""

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
