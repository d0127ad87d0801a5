"""What every step of one run shares."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from tuilab.analysis.contention import Pressure
from tuilab.model.events import Caveat, Progress
from tuilab.model.parameters import Values
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.worker.context import Context
from tuilab.worker.measure.canary import Canary
from tuilab.worker.measure.gpus import GpuWatch
from tuilab.worker.measure.report import Reporter
from tuilab.worker.measure.stopwatch import Stopwatch
from tuilab.workloads.base import Workload


@dataclass
class Bench:
    """The request, what it is carried out with, and how far the run's rounds have come.

    values: of every parameter, checked. rounds, elapsed_s: of all points together. pressures: one a point.
    disturbed: rounds kept although the canary had moved.
    """

    context: Context
    request: Measure
    workload: Workload
    values: Values
    stopwatch: Stopwatch
    reporter: Reporter
    random: random.Random
    canary: Canary
    rounds: int = 0
    elapsed_s: float = 0.0
    pressures: list[Pressure] = field(default_factory=list)
    disturbed: int = 0
    gpus: GpuWatch = field(default_factory=lambda: GpuWatch({}, ()))

    @property
    def run(self) -> str:
        """The run's id."""
        return self.request.id

    @property
    def state(self) -> RunState:
        """The run as everyone else sees it."""
        return self.reporter.state

    def ran(self, arm: str) -> bool:
        """Whether the arm was seen to compute anywhere in this run."""
        known = self.state.arms.get(arm)
        return known is not None and known.device is not None

    def check(self) -> None:
        """Raise Cancelled where a stop was asked for."""
        self.context.check(self.request.id)

    def progress(
        self, stage: str, done: float = 0.0, total: float = 0.0, unit: str = "", arm: str = ""
    ) -> None:
        """Say what the run does now; also where a stop is obeyed."""
        self.check()
        self.reporter.say(Progress(run=self.run, stage=stage, done=done, total=total, unit=unit, arm=arm))

    def flag(self, flags: Iterable[Caveat]) -> None:
        """Say doubts; of a run of several processes, in which of them they arose."""
        request = self.request
        several = request.worker > 0 or request.budget.workers > 1
        for flag in flags:
            words = f"process {request.worker + 1}: {flag.message}"
            self.reporter.say(msgspec.structs.replace(flag, message=words) if several else flag)
