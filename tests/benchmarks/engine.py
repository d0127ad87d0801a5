"""Measures how fast the quick budget answers, and how much of the rounds' time is inside timed blocks.

python -m tests.benchmarks.engine [--write]

A warm worker measures the CPU arms of `stft-small` with each budget. Goals: `quick` takes less than 5 s; with
`standard`, at least 85% of the rounds' time is inside timed blocks.
"""

import time
import uuid

from tests.benchmarks import still, written
from tests.conftest import Worker
from tuilab.analysis.summary import summarise
from tuilab.catalogue import load
from tuilab.lab.settings import Settings
from tuilab.model.arms import ArmSelection
from tuilab.model.expand import expand
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, BudgetName
from tuilab.workloads import find

HEAD = ("budget", "wall", "rounds", "repeated", "timed share", "reached", "flags")


def row(worker: Worker, name: str, budget: BudgetName) -> list[str]:
    preset = load().find(name)
    chosen = Settings.of(preset).scenario
    arms = expand(ArmSelection(devices=("CPU:0",)), find(preset.workload).declaration, chosen.parameters)
    begun = time.perf_counter()
    asked = Measure(id=uuid.uuid4().hex, scenario=chosen, arms=arms, budget=BUDGET[budget], preset=name)
    state = RunState()
    for event in worker.measure(asked):
        state.apply(event)
    wall = time.perf_counter() - begun
    summarise(state, preset.claims)
    flags = sorted(
        {flag.code for arm in state.arms.values() for flag in arm.flags} | {f.code for f in state.flags}
    )
    share = state.timed_s / state.elapsed_s
    reached = "–" if state.reached is None else f"± {state.reached:.1%}"
    return [
        budget,
        f"{wall:.2f} s",
        str(state.rounds),
        str(state.repeated),
        f"{share:.0%}",
        reached,
        " ".join(flags),
    ]


def main() -> None:
    still.wait()
    watch = still.Watch()
    worker = Worker(cpus=1)
    try:
        budgets: list[BudgetName] = ["quick", "quick", "standard", "standard"]
        rows = [row(worker, "stft-small", budget) for budget in budgets]
    finally:
        worker.close()
    lines = ["| " + " | ".join(cells) + " |" for cells in (HEAD, ["---"] * len(HEAD), *rows)]
    shown = "\n".join(lines) + f"\n\n{watch.said()}\n"
    written.show(shown, "The engine", __file__, __doc__)


if __name__ == "__main__":
    main()
