"""Whether the pace told as undisturbed is the idle machine's, with hogs at work beside the measurement.

    python -m tests.benchmarks.undisturbed FILE [RUNS [HOGS …]]    # about 20 s a run beside 1, 2 and 4 hogs
    python -m tests.benchmarks.undisturbed FILE --report

One worker measures all, so that what differs between processes is no part of the answer. A run is a quarter of a
minute of rounds with hogs that come and go (busy for 2 s, quiet for 3 s on average), and before it, once other
programs are still, one of a few seconds with the hogs stopped. The idle pace of an arm is the median of its blocks in those still runs, of the
windows in which the kernel saw no other program and the canary was at its fastest of all the session; other
programs of the machine are so left out too. FILE keeps every run's events as lines.
"""

import os
import random
import signal
import statistics
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.benchmarks import still
from tests.benchmarks.coverage import HOG
from tests.conftest import Worker
from tuilab.analysis.reading import estimate_at
from tuilab.analysis.undisturbed import cut, quiet, undisturbed
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.parameters import check_values
from tuilab.model.requests import Measure
from tuilab.model.run import ArmSamples, RunState
from tuilab.model.scenario import Budget, Scenario
from tuilab.workloads import find

VALUES = {"samples": 16_384, "frame_length": 512, "frame_step": 256, "fft_length": 512}
ARMS = (
    Arm("CPU:0", "graph", dtype="float32", variant="whole"),
    Arm("CPU:0", "eager", dtype="float32", variant="whole"),
)
STILL_S, BUSY_S = 3.0, 15.0


class Run(msgspec.Struct):
    """One run: how many hogs came and went beside it, and all that it said."""

    hogs: int
    told: list[e.RunStarted | e.Round | e.HostWatched | e.Finished]

    @property
    def state(self) -> RunState:
        """What they add up to."""
        state = RunState()
        for event in self.told:
            state.apply(event)
        return state


def one(worker: Worker, hogs: int, seconds: float) -> Run:
    """A run of that long."""
    declaration = find("stft").declaration
    budget = Budget(
        name="quick", warm_s=0.3, warm_limit_s=1.0, precision=1e-6, rounds=1_000_000, limit_s=seconds
    )
    request = Measure(
        id=uuid.uuid4().hex,
        scenario=Scenario("stft", check_values(declaration.parameters, declaration.constraints, VALUES)),
        arms=ARMS,
        budget=budget,
        phases=False,
        placement=False,
        latency=False,
    )
    kinds = (e.RunStarted, e.Round, e.HostWatched, e.Finished)
    return Run(hogs, [event for event in worker.measure(request) if isinstance(event, kinds)])


def collect(file: Path, runs: int, hogs: Sequence[int]) -> None:
    """Measure, and add a line for each run to the file."""
    worker = Worker()
    codes = [HOG.format(seed=seed, parent=os.getpid()) for seed in range(max(hogs))]
    made = [subprocess.Popen([sys.executable, "-S", "-c", code]) for code in codes]

    def let(count: int) -> None:
        for index, hog in enumerate(made):
            hog.send_signal(signal.SIGCONT if index < count else signal.SIGSTOP)

    try:
        for _ in range(runs):
            for count in random.sample(list(hogs), len(hogs)):
                let(0)
                still.wait()
                for beside, seconds in ((0, STILL_S), (count, BUSY_S)):
                    let(beside)
                    with file.open("ab") as out:
                        out.write(msgspec.json.encode(one(worker, beside, seconds)) + b"\n")
    finally:
        for hog in made:
            hog.kill()
            hog.wait()
        worker.close()


class Held(NamedTuple):
    """Of runs beside so many hogs: arms, those told to have another pace undisturbed, and those that held it."""

    arms: int = 0
    told: int = 0
    held: int = 0
    near: int = 0
    now: int = 0


def idle(runs: Sequence[Run]) -> dict[str, float]:
    """Each arm's pace in the still runs' undisturbed windows, all of one session held against each other."""
    states = [run.state for run in runs if not run.hogs]
    among = set(quiet([window for state in states for window in state.windows]))
    found: dict[str, list[float]] = {}
    for state in states:
        alone = [window for window in state.windows if window in among]
        for name, arm in state.arms.items():
            found.setdefault(name, []).extend(cut(arm.cells.get(0, ArmSamples()), alone).samples)
    return {name: statistics.median(samples) for name, samples in found.items() if samples}


def report(runs: Sequence[Run]) -> str:
    """A row for each number of hogs."""
    truth = idle(runs)
    if not truth:
        return "The machine was never still, so that no idle pace is known."
    lines = [
        "| hogs | arms of runs | told apart | undisturbed holds the idle pace | within 5 % of it "
        "| all rounds' interval holds it |",
        "|" + "---|" * 6,
    ]
    for hogs in sorted({run.hogs for run in runs}):
        counts = Held()
        for state in (run.state for run in runs if run.hogs == hogs):
            for name, arm in state.arms.items():
                pace, apart, now = truth[name], undisturbed(state, arm, 0), estimate_at(arm, 0)
                assert now is not None and now.interval is not None
                held = apart is not None and apart.ci95_s[0] <= pace <= apart.ci95_s[1]
                near = apart is not None and abs(apart.median_s / pace - 1) <= 0.05
                whole = now.interval[0] <= pace <= now.interval[1]
                more = (1, apart is not None, held, near, whole)
                counts = Held(*(a + b for a, b in zip(counts, more, strict=True)))
        lines.append(
            f"| {hogs} | {counts.arms} | {counts.told} | {counts.held} of {counts.told} "
            f"| {counts.near} of {counts.told} | {counts.now} of {counts.arms} |"
        )
    return "\n".join(lines)


def main() -> None:
    file, *rest = sys.argv[1:]
    numbers = [int(word) for word in rest if word.isdigit()]
    if "--report" not in rest:
        collect(Path(file), numbers[0] if numbers else 5, numbers[1:] or (1, 2, 4))
    lines = Path(file).read_bytes().splitlines()
    print(report([msgspec.json.decode(line, type=Run) for line in lines]))


if __name__ == "__main__":
    main()
