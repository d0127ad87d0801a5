"""Compares the reported undisturbed speed with the speed of the idle machine, while other programs compete.

  python -m tests.benchmarks.undisturbed FILE [RUNS [HOGS …]]    # about 17 s a run with 1, 2 and 4 hogs
  python -m tests.benchmarks.undisturbed FILE --report

One worker measures everything, to exclude differences between processes. A run takes 15 s, during which hogs
(`tests.benchmarks.hogs`) compete for the processors at random times. It starts when other programs are idle.
Each hog records its busy times, which tuilab does not see. An arm's idle speed is the median of the same
run's rounds without a busy hog; other minutes do not count, because a host's own speed changes. FILE stores
every run's events as lines.
"""

import random
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.benchmarks import still
from tests.benchmarks.hogs import hogs
from tests.conftest import Worker
from tuilab.analysis.processes import estimate_of
from tuilab.analysis.reading import estimate_at
from tuilab.analysis.statistics import Estimate
from tuilab.analysis.undisturbed import cut, quiet, undisturbed
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.parameters import check_values
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import Budget, Scenario
from tuilab.workloads import find

VALUES = {"samples": 16_384, "frame_length": 512, "frame_step": 256, "fft_length": 512}
ARMS = (
    Arm("CPU:0", "graph", dtype="float32", variant="whole"),
    Arm("CPU:0", "eager", dtype="float32", variant="whole"),
)
RUN_S = 15.0
AROUND_S = 0.02
"""Minimum time in seconds between an idle round and the nearest busy time of a hog."""
LEAST = 20


class Run(msgspec.Struct):
    """One run.

    begun, busy: start of the rounds, and busy times of the hogs, in seconds of the system-wide clock.
    """

    hogs: int
    told: list[e.RunStarted | e.Round | e.HostWatched | e.Finished]
    begun: float
    busy: list[tuple[float, float]]

    @property
    def state(self) -> RunState:
        state = RunState()
        for event in self.told:
            state.apply(event)
        return state

    def idle(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        last = self.begun
        for event in self.told:
            if isinstance(event, e.Round):
                end = self.begun + event.elapsed_s
                if not any(low < end + AROUND_S and last - AROUND_S < high for low, high in self.busy):
                    for block in event.blocks:
                        found.setdefault(block.arm, []).append(block.per_call_s)
                last = end
        return found


def one(worker: Worker, count: int) -> Run:
    declaration = find("stft").declaration
    budget = Budget(
        name="quick", warm_s=0.3, warm_limit_s=1.0, precision=1e-6, rounds=1_000_000, limit_s=RUN_S
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
    told, begun = [], float("inf")
    with hogs(count) as busy:
        for event in worker.measure(request):
            if isinstance(event, e.Round):  # the least delayed event gives the best estimate of the start
                begun = min(begun, time.monotonic() - event.elapsed_s)
            if isinstance(event, e.RunStarted | e.Round | e.HostWatched | e.Finished):
                told.append(event)
    return Run(count, told, begun, busy)


def collect(file: Path, runs: int, counts: Sequence[int]) -> None:
    worker = Worker()
    try:
        for _ in range(runs):
            for count in random.sample(list(counts), len(counts)):
                still.wait()
                with file.open("ab") as out:
                    out.write(msgspec.json.encode(one(worker, count)) + b"\n")
    finally:
        worker.close()


def report(runs: Sequence[Run]) -> str:
    """Return a table with a row per number of hogs: how often each interval contains an arm's idle speed.

    *Quiet rounds* are rounds that tuilab considers undisturbed; *told apart* counts runs in which these
    rounds are clearly faster than all rounds.
    """
    lines = [
        "| hogs | arms of runs | quiet rounds hold the idle pace | told apart | of these hold it | all rounds hold it |",
        "|" + "---|" * 6,
    ]
    for beside in sorted({run.hogs for run in runs}):
        arms, alone, apart, now = 0, [], [], []
        for run in (run for run in runs if run.hogs == beside):
            state, idle = run.state, run.idle()
            for name, arm in state.arms.items():
                if len(idle.get(name, ())) < LEAST:
                    continue
                arms, pace = arms + 1, statistics.median(idle[name])
                part = cut(arm.cells[0], quiet(state.windows))
                if len(part.samples) >= LEAST:
                    alone.append(_holds(estimate_of(part), pace))
                if told := undisturbed(state, arm, 0):
                    apart.append(told.ci95_s[0] <= pace <= told.ci95_s[1])
                now.append(_holds(estimate_at(arm, 0), pace))
        held = f"{sum(alone)} of {len(alone)} | {len(apart)} | {sum(apart)} of {len(apart)}"
        lines.append(f"| {beside} | {arms} | {held} | {sum(now)} of {len(now)} |")
    return "\n".join(lines)


def _holds(found: Estimate | None, pace: float) -> bool:
    assert found is not None and found.interval is not None
    return found.interval[0] <= pace <= found.interval[1]


def main() -> None:
    file, *rest = sys.argv[1:]
    numbers = [int(word) for word in rest if word.isdigit()]
    if "--report" not in rest:
        collect(Path(file), numbers[0] if numbers else 5, numbers[1:] or (1, 2, 4))
    lines = Path(file).read_bytes().splitlines()
    print(report([msgspec.json.decode(line, type=Run) for line in lines]))


if __name__ == "__main__":
    main()
