"""How often an interval holds what it is an interval of, on a machine that is disturbed on purpose.

    python -m tests.benchmarks.coverage [RUNS] [--write]

Thirty runs, each as the budget standard measures: one process, then four short ones, all fresh, while a hog that
comes and goes takes processors away. The grand median is that of all processes of all runs. *Before* is the
interval of a run's first process alone, which was all that `standard` gave; *after* that of its processes.
`publish` is put together of ten processes of neighbouring runs. The interval of one process is one of that
process and minute, and is said to be so. Width: the half-width over the median, in the median of the runs.
"""

import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.benchmarks import written
from tests.conftest import Worker
from tuilab.analysis.processes import estimate_of, log_ratio
from tuilab.analysis.ratios import from_location
from tuilab.model.arms import Arm
from tuilab.model.parameters import check_values
from tuilab.model.requests import Measure
from tuilab.model.run import ArmSamples, RunState
from tuilab.model.scenario import BUDGET, Scenario
from tuilab.workloads import find

VALUES = {"samples": 16_384, "frame_length": 512, "frame_step": 256, "fft_length": 512}
ARMS = (
    Arm("CPU:0", "graph", dtype="float32", variant="whole"),
    Arm("CPU:0", "eager", dtype="float32", variant="whole"),
)
FIRST_S = 4.0
"""The first process, whose sixty seconds at most are cut, so that thirty runs take half an hour."""

HOG = """
import random, time
random.seed({seed})
while True:
    time.sleep(random.expovariate(1 / 3.0))
    until = time.monotonic() + random.expovariate(1 / 2.0)
    while time.monotonic() < until: pass
"""


@contextmanager
def disturbed(hogs: int = 2) -> Iterator[None]:
    """Processes that are busy for 2 s and quiet for 3 s on average, each by itself."""
    made = [subprocess.Popen([sys.executable, "-S", "-c", HOG.format(seed=i)]) for i in range(hogs)]
    try:
        yield
    finally:
        for process in made:
            process.kill()
            process.wait()


def process(index: int) -> list[ArmSamples]:
    """One fresh process's samples of both arms, as the budget standard has them measured."""
    worker = Worker()
    try:
        declaration = find("stft").declaration
        values = check_values(declaration.parameters, declaration.constraints, VALUES)
        budget = msgspec.structs.replace(BUDGET["standard"], limit_s=FIRST_S)
        request = Measure(
            id=uuid.uuid4().hex,
            scenario=Scenario("stft", values),
            arms=ARMS,
            budget=budget,
            worker=index,
            phases=False,
            placement=False,
            latency=False,
        )
        state = RunState()
        for event in worker.measure(request):
            state.apply(event)
        return [state.arms[arm.id].cell() for arm in ARMS]
    finally:
        worker.close()


def joined(parts: Sequence[ArmSamples]) -> ArmSamples:
    """Several processes' samples as those of one run."""
    whole, at = ArmSamples(), 0
    for number, part in enumerate(parts):
        if number:
            whole.begun.append(at)
        whole.samples.extend(part.samples)
        whole.rounds.extend(array("i", range(at, at + len(part.samples))))
        at += len(part.samples)
    return whole


def report(runs: Sequence[Sequence[list[ArmSamples]]]) -> str:
    """The table: coverage of the grand median and of the grand ratio, and widths."""
    every = [process for run in runs for process in run]
    grand = [statistics.median(statistics.median(p[arm].samples) for p in every) for arm in range(len(ARMS))]
    logs = [math.log(statistics.median(p[1].samples) / statistics.median(p[0].samples)) for p in every]
    ratio = math.exp(statistics.median(logs))
    short = [process for run in runs for process in run[1:]]
    ways = {
        "one process (quick; standard before)": [[run[0]] for run in runs],
        "three processes (publish before)": [list(run[:3]) for run in runs],
        "five processes (standard now)": [list(run) for run in runs],
        "ten processes (publish now)": [random.Random(i).sample(short, 10) for i in range(len(runs))],
    }
    lines = ["| way | runs | medians held | half-width | ratios held |", "|---|---|---|---|---|"]
    for name, parts in ways.items():
        held, widths, ratios = [], [], []
        for run in parts:
            cells = [joined([p[arm] for p in run]) for arm in range(len(ARMS))]
            for cell, truth in zip(cells, grand, strict=True):
                found = estimate_of(cell)
                assert found is not None
                if found.low is not None and found.high is not None:
                    held.append(found.low <= truth <= found.high)
                    widths.append((found.high - found.low) / 2 / found.median)
            middle = log_ratio(cells[1], cells[0])
            assert middle is not None
            between = from_location(middle)
            if between.low is not None and between.high is not None:
                ratios.append(between.low <= ratio <= between.high)
        lines.append(
            f"| {name} | {len(parts)} | {statistics.fmean(held):.0%} | ± {statistics.median(widths):.1%} "
            f"| {statistics.fmean(ratios):.0%} |"
        )
    spread = statistics.pstdev([math.log(statistics.median(p[0].samples)) for p in every])
    return "\n".join(lines) + f"\n\nProcesses' medians scatter by {spread:.1%}.\n"


def main() -> None:
    count = next((int(word) for word in sys.argv[1:] if word.isdigit()), 30)
    kept = Path(tempfile.gettempdir()) / "tuilab-coverage.json"
    runs: list[list[list[ArmSamples]]] = []
    begun = time.monotonic()
    with disturbed():
        for number in range(count):
            runs.append([process(index) for index in range(5)])
            print(f"run {number + 1}, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
            raw = [[[list(cell.samples) for cell in p] for p in run] for run in runs]
            kept.write_bytes(msgspec.json.encode(raw))
            if number >= 4:
                print(report(runs), file=sys.stderr, flush=True)
    written.show(report(runs), "Coverage", __file__, __doc__)


if __name__ == "__main__":
    main()
