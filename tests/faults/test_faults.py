"""After each fault, the lab shows the expected message, its history is intact, and it still works.

Runs the real program in a terminal. By default, each kind of fault is injected at least once; `--long`
injects all faults often, at different points of a run.
"""

import concurrent.futures
import os
import random
import re
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.faults import FAULTS
from tests.faults.trial import trial

pytestmark = pytest.mark.terminal
AT_ONCE = max(2, min(6, (os.cpu_count() or 2) + 1))
"""Number of parallel trials. It may exceed the number of processors, because trials mostly wait."""
USUAL = {
    "worker-hang-hards", "worker-killed-at-any-time", "lab-killed",
    "lab-terminated", "line-drops", "terminal-gone-without-a-signal",
    "resized-while-it-paints", "keys-in-a-storm", "store-locked-and-the-lab-killed", "disk-full",
    "store-damaged", "no-home", "clock-steps",
}  # fmt: skip
"""Faults that are injected by default: one or two of each kind."""
LONG = 6


@dataclass
class Outcome:
    """The outcome of a trial.

    fault: description of the failure; "" if there was none. left: remaining processes. lost: lost rounds.
    """

    fault: str = ""
    left: int = 0
    lost: int = 0
    late: bool = False
    traceback: str = ""
    rounds: int = 0
    seconds: float = 0.0

    @property
    def fine(self) -> bool:
        return not (self.fault or self.left or self.lost or self.late or self.traceback)

    @property
    def report(self) -> str:
        shown = re.sub(r"\x1b\[[0-?]*[a-zA-Z]", " ", self.traceback)
        counts = f"{self.left} processes left, {self.lost} rounds lost, too late: {self.late}"
        return f"{counts}\n{self.fault}\n{shown}"


def attempt(name: str, seed: int, folder: Path) -> Outcome:
    out, begun = Outcome(), time.monotonic()
    with trial(folder / f"{name}-{seed}") as made:
        try:
            FAULTS[name](made, random.Random(f"{name}{seed}"))
        except TimeoutError as late:
            out.late, out.fault = True, str(late)
        except Exception:
            out.fault = traceback.format_exc()
        out.left = len(made.alone())
        out.lost = sum(map(len, made.lost().values()))
        out.traceback = made.traceback()
        out.rounds = sum(map(len, made.reported.values()))
    out.seconds = time.monotonic() - begun
    return out


def attempts(plan: list[tuple[str, int]], folder: Path) -> dict[tuple[str, int], Outcome]:
    folder.chmod(0o755)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        futures = {pool.submit(attempt, name, seed, folder): (name, seed) for name, seed in plan}
        return {futures[done]: done.result() for done in concurrent.futures.as_completed(futures)}


@pytest.mark.parametrize(
    "name", [name if name in USUAL else pytest.param(name, marks=pytest.mark.long) for name in FAULTS]
)
def test_a_fault_is_reported_and_the_history_and_the_lab_survive(name, tmp_path):
    tmp_path.chmod(0o755)
    outcome = attempt(name, 1, tmp_path)
    assert outcome.fine, outcome.report


def test_the_number_of_faults_is_as_promised():
    assert len(FAULTS) >= 30 and FAULTS.keys() > USUAL


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_repeated_faults_at_random_points_are_survived(tmp_path_factory):
    plan = [(name, seed) for seed in range(2, 2 + LONG) for name in FAULTS]
    random.Random(0).shuffle(plan)
    found = attempts(plan, tmp_path_factory.mktemp("trials"))
    figures = (
        f"{len(found)} trials of {len(FAULTS)} faults: {sum(o.rounds for o in found.values())} rounds reported, "
        f"{sum(o.lost for o in found.values())} lost, {sum(o.left for o in found.values())} orphans, "
        f"{sum(o.late for o in found.values())} waits beyond the limit, "
        f"{sum(bool(o.traceback) for o in found.values())} tracebacks"
    )
    print(figures)
    assert len(found) >= 200
    bad = {trial: outcome for trial, outcome in found.items() if not outcome.fine}
    assert not bad, "\n".join([figures, *(f"{trial}: {outcome.report}" for trial, outcome in bad.items())])
