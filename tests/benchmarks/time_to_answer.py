"""Time from the command to a result: tuilab, pyperf and torch, for one STFT.

  python -m tests.benchmarks.time_to_answer [--write]

Each tool measures the same call: a `tf.function` STFT of (1, 10240) float32, frames of 512 every 256, on the
CPU. Only tools that measure in equally many processes can be compared. In one process: `quick` and a warm
worker with torch.utils.benchmark, which stops at 2%. In several processes: `standard`, which forks its
processes if possible, with pyperf, which starts twenty fresh processes by default. tuilab has already
measured the machine's roofs (hardware limits), as its first run would do. *To the same ±* is the speedup if
pyperf ran until it reached the listed half-width, which shrinks with the square root of the number of
processes (at least six). pyperf and torch are included if installed. `--write` writes the table to
`time_to_answer.md`.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from tests.benchmarks import still, written
from tests.conftest import Worker
from tuilab.analysis.statistics import MIN_SAMPLES, estimate, locate
from tuilab.model.arms import Arm
from tuilab.model.quantity import interval, seconds
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import BUDGET, BudgetName, Scenario

VALUES = {"samples": 10_240, "frame_length": 512, "frame_step": 256, "fft_length": 512, "pinned": False}
"""Values of the STFT. The device is not pinned, because a device scope costs 0.5 µs and the other tools
use none.
"""
SETUP = """
import os; os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np, tensorflow as tf
signal = tf.constant(np.random.default_rng(0).standard_normal((1, 10240)).astype('float32'))
hann = tf.signal.hann_window
stft = tf.function(lambda s: tf.signal.stft(s, 512, 256, 512, window_fn=hann), autograph=False)
stft(signal)
"""
STATEMENT = "stft(signal)"
WARM = 3


@dataclass(frozen=True)
class Answer:
    who: str
    wall_s: float
    median: float
    low: float
    high: float
    n: int
    runs: tuple[float, ...] = ()

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2 / self.median


def answer(who: str, wall_s: float, samples: list[float]) -> Answer:
    found = estimate(samples)
    assert found is not None
    nothing = float("nan")
    low, high = found.interval or (nothing, nothing)
    return Answer(who, wall_s, found.median, low, high, found.n)


def command(*words: str, data: str) -> bytes:
    environment = {**os.environ, "TUILAB_DATA": data, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-m", "tuilab", *words], capture_output=True, env=environment, check=True
    )
    return done.stdout


def cold(budget: BudgetName, data: str) -> Answer:
    settings = [word for name, value in VALUES.items() for word in ("--set", f"{name}={value}")]
    words = ["stft-medium", *settings, "--device", "CPU", "--mode", "graph", "--json", "--budget", budget]
    begun = time.perf_counter()
    printed = command("run", *words, data=data)
    wall = time.perf_counter() - begun
    result = json.loads(printed)
    (arm,) = [a for a in result["arms"] if a["status"] == "ok"]
    low, high = arm["ci95_s"]
    terms = result["confidence"]["of"]
    return Answer(f"tuilab run --budget {budget}, {terms}", wall, arm["median_s"], low, high, arm["n"])


def warm(worker: Worker) -> Answer:
    """Time a request to a warm worker. The screen sends the same request."""
    arm = Arm("CPU:0", "graph", "resident", "float32", "whole")
    begun = time.perf_counter()
    request = Measure(
        id=f"warm-{begun}", scenario=Scenario("stft", dict(VALUES)), arms=(arm,), budget=BUDGET["quick"]
    )
    state = RunState()
    for event in worker.measure(request):
        state.apply(event)
    wall = time.perf_counter() - begun
    return answer("tuilab, warm worker, one process", wall, state.arms[arm.id].cells[0].samples)


def pyperf() -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.json"
        words = ["timeit", "-q", "-o", str(path), "-s", SETUP, STATEMENT]
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "pyperf", *words], capture_output=True, check=True)
        wall = time.perf_counter() - begun
        import pyperf as module

        runs = module.BenchmarkSuite.load(str(path)).get_benchmarks()[0].get_runs()
    # Values are correlated within a process, but processes are independent.
    means = tuple(fmean(run.values) for run in runs if run.values)
    return replace(answer(f"pyperf timeit, {len(means)} processes", wall, list(means)), runs=means)


def torch() -> Answer:
    code = (
        "import json\nfrom torch.utils.benchmark import Timer\n"
        f"m = Timer({STATEMENT!r}, setup={SETUP!r}).adaptive_autorange(threshold=0.02)\n"
        "print(json.dumps(m.times))"
    )
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    wall = time.perf_counter() - begun
    return answer("torch.utils.benchmark, one process", wall, json.loads(done.stdout.splitlines()[-1]))


def everyone(worker: Worker) -> Iterator[Answer]:
    """Yield the answer of each installed tool. tuilab is measured first, last and in between, because the
    machine's speed drifts.
    """
    others: list[tuple[str, Callable[[], Answer]]] = [("pyperf", pyperf), ("torch", torch)]
    with tempfile.TemporaryDirectory() as data:
        command("machine", data=data)
        yield cold("quick", data)
        yield cold("standard", data)
        yield from (warm(worker) for _ in range(WARM))
        for name, measure in others:
            if importlib.util.find_spec(name) is None:
                print(f"{name} is not installed", file=sys.stderr)
                continue
            yield measure()
            yield from (warm(worker) for _ in range(WARM))
        yield cold("quick", data)
        yield cold("standard", data)


def table(answers: list[Answer], note: str) -> str:
    against = next((a for a in answers if a.who.startswith("pyperf")), None)
    head = [
        "who",
        "time to the answer",
        "median",
        "95% interval",
        "±",
        "n",
        "against pyperf",
        "to the same ±",
    ]
    rows = [head, ["---"] * len(head)]
    for one in answers:
        times = alike = ""
        if against and one is not against:
            times = f"{against.wall_s / one.wall_s:.1f}× faster"
            if "over" in one.who:  # an interval over processes, like pyperf's
                alike = f"{until(against, one.half) / one.wall_s:.1f}× faster"
        shown = interval(one.low, one.high, one.median)
        cells = [one.who, f"{one.wall_s:.1f} s", seconds(one.median, one.half * one.median), shown]
        rows.append([*cells, f"{one.half:.1%}", str(one.n), times, alike])
    lines = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return "\n\n".join([lines, *([agreement(answers, against)] if against else []), note]) + "\n"


def until(against: Answer, half: float) -> float:
    """Return the seconds that the tool of `against` would need to reach the relative half-width `half`."""
    wanted = max(MIN_SAMPLES, len(against.runs) * (against.half / half) ** 2)
    return against.wall_s * wanted / len(against.runs)


def agreement(answers: list[Answer], against: Answer) -> str:
    """Return a sentence that reports whether tuilab's medians agree with those of the other tool's processes.

    Compares intervals over processes, because the graph of this STFT takes 87 to 105 µs, depending on the
    process.
    """
    ours = middle([a.median for a in answers if a.who.startswith("tuilab")])
    theirs = middle(list(against.runs))
    words = "agree" if ours[1] <= theirs[2] and theirs[1] <= ours[2] else "DO NOT AGREE"
    shown = [f"{seconds(m, (high - low) / 2)} {interval(low, high, m)}" for m, low, high in (ours, theirs)]
    return f"From run to run (95%): tuilab {shown[0]}, {against.who} {shown[1]}: they {words}."


def middle(runs: list[float]) -> tuple[float, float, float]:
    found = locate(runs, 0.0)
    assert found is not None
    half = found.half_width()
    assert half is not None
    return found.mean, found.mean - half, found.mean + half


def main() -> None:
    still.wait()
    watch = still.Watch()
    worker = Worker(cpus=1)
    try:
        answers = []
        for one in everyone(worker):
            answers.append(one)
            print(f"{one.who}: {one.wall_s:.1f} s, ± {one.half:.1%}", file=sys.stderr, flush=True)
    finally:
        worker.close()
    shown = table(answers, watch.said())
    written.show(shown, "Time to the answer", __file__, __doc__)


if __name__ == "__main__":
    main()
