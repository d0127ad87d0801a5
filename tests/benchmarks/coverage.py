"""Measures how often an interval contains the true value, on a deliberately disturbed machine or an idle one.

python -m tests.benchmarks.coverage FILE [RUNS] [--still] [--write]        # about 45 s a run

Each run is a user's `tuilab run --budget standard` with its own history. It measures one process, then forks
of zygotes until there are twenty processes or the interval is within ± 2%. Meanwhile, one CPU hog per
processor is busy for 2 s and quiet for 3 s on average; with --still, there are no hogs, and each run waits
for an idle host. FILE stores the measurements of every process, so later runs can be added. The grand median
is the median over all processes of all runs. *One process* is the interval of a run's first process, which
holds only for that process and minute and is labeled as such. *Reshuffled* assigns the same processes to
runs at random, a hundred times. If these intervals contain the grand median more often, the machine changed
between runs, which no one-minute run can show; the share of variance between runs is given below the table.
The half-width is a share of the median; the table shows its median over the runs. *Six runs* is the range
that tuilab reports after six runs with the same settings; here, every six consecutive runs form such a range.
"""

import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from tests.benchmarks import still, written
from tests.benchmarks.hogs import hogs
from tuilab.analysis.processes import begun, estimate_of, log_ratio, spans
from tuilab.analysis.ratios import from_location
from tuilab.history.store import Store
from tuilab.model.run import ArmSamples

COMMAND = (
    "run", "stft-medium", "--budget", "standard", "--device", "CPU", "--mode", "graph", "--mode", "eager",
    "--set", "samples=16384", "--set", "frame_length=512", "--set", "frame_step=256", "--set", "fft_length=512",
)  # fmt: skip
ARMS, SIX = 2, 6
DEALS = 100


class Part(msgspec.Struct, frozen=True):
    """One process's measurements of an arm: seconds per call, by round. zygote: number of the zygote that
    forked the process; -1 for a fresh process.
    """

    samples: list[float]
    rounds: list[int]
    zygote: int


Process = list[Part]


def one_run(quiet: bool) -> list[Process]:
    """Return the measurements of each process of a run. quiet: wait for an idle host before the run."""
    if quiet:
        still.wait()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TUILAB_DATA": folder, "TF_CPP_MIN_LOG_LEVEL": "3"}
        words = [sys.executable, "-m", "tuilab", *COMMAND]
        subprocess.run(words, stdout=subprocess.DEVNULL, env=environment, check=True)
        store = Store.open(Path(folder))
        last = store.last()
        assert last is not None
        state = store.state(last.run)
        store.close()
    cells = [cell for arm in state.arms.values() if (cell := arm.cell()).samples]
    assert len(cells) == ARMS
    return [
        [_part(cell, low, high) for cell in cells] for low, high in spans(begun(state), cells[0].rounds[-1])
    ]


def _part(cell: ArmSamples, low: int, high: int) -> Part:
    at = [index for index, number in enumerate(cell.rounds) if low <= number < high]
    zygote = dict(zip(cell.begun, cell.zygotes, strict=True)).get(low, -1)
    return Part([cell.samples[i] for i in at], [cell.rounds[i] - low for i in at], zygote)


def joined(parts: Sequence[Part]) -> ArmSamples:
    whole, at = ArmSamples(), 0
    for number, part in enumerate(parts):
        if number:
            whole.begun.append(at)
            whole.zygotes.append(part.zygote)
        whole.samples.extend(part.samples)
        whole.rounds.extend(array("i", (at + each for each in part.rounds)))
        at = whole.rounds[-1] + 1
    return whole


def report(runs: Sequence[Sequence[Process]]) -> str:
    """Return a table that shows how often the intervals contain the grand median and the grand ratio, and how
    wide the intervals are.
    """
    every = [process for run in runs for process in run]
    size = round(statistics.median(map(len, runs)))
    ways = {
        "one process": ([[run[0]] for run in runs], [run[0] for run in runs]),
        f"{size} processes (standard)": ([list(run) for run in runs], every),
    }
    lines = ["| way | runs | medians held | reshuffled | half-width | ratios held |", "|" + "---|" * 6]
    for name, (groups, pool) in ways.items():
        held, widths, ratios = _coverage(groups, every)
        anew = statistics.fmean(
            _coverage(_dealt(pool, round(statistics.median(map(len, groups))), deal), every)[0]
            for deal in range(DEALS)
        )
        lines.append(
            f"| {name} | {len(groups)} | {held:.0%} | {anew:.0%} | ± {statistics.median(widths):.1%} "
            f"| {ratios:.0%} |"
        )
    held, half = _of_runs(runs)
    lines.append(
        f"| six runs of {size} processes | {len(runs) - SIX + 1} | {held:.0%} | – | ± {half:.1%} | – |"
    )
    spread = statistics.pstdev([_log(p[0]) for p in every])
    return (
        "\n".join(lines) + f"\n\nThe medians of the processes scatter by {spread:.1%}; "
        f"{_between_runs(runs):.0%} of their variance lies between runs.\n"
    )


def _coverage(
    groups: Sequence[Sequence[Process]], every: Sequence[Process]
) -> tuple[float, list[float], float]:
    """Return the share of intervals that contain the grand median, the widths of the intervals, and the
    share of ratio intervals that contain the grand ratio.
    """
    grand = [statistics.median(statistics.median(p[arm].samples) for p in every) for arm in range(ARMS)]
    ratio = math.exp(statistics.median(_log(p[1]) - _log(p[0]) for p in every))
    held, widths, ratios = [], [], []
    for group in groups:
        cells = [joined([p[arm] for p in group]) for arm in range(ARMS)]
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
    return statistics.fmean(held), widths, statistics.fmean(ratios)


def _of_runs(runs: Sequence[Sequence[Process]]) -> tuple[float, float]:
    """Return the share of ranges over six successive runs that contain the median of all processes, and the
    median of these ranges' relative half-widths.
    """
    held, widths = [], []
    for arm in range(ARMS):
        grand = statistics.median(statistics.median(p[arm].samples) for run in runs for p in run)
        found = [estimate_of(joined([p[arm] for p in run])) for run in runs]
        medians = [one.median for one in found if one is not None]
        for at in range(len(medians) - SIX + 1):
            six = medians[at : at + SIX]
            held.append(min(six) <= grand <= max(six))
            widths.append((max(six) - min(six)) / 2 / statistics.median(six))
    return statistics.fmean(held), statistics.median(widths)


def _cut(processes: Sequence[Process], size: int) -> list[Sequence[Process]]:
    return [processes[at : at + size] for at in range(0, len(processes) - size + 1, size)] or [processes]


def _dealt(processes: Sequence[Process], size: int, seed: int) -> list[Sequence[Process]]:
    return _cut(random.Random(seed).sample(processes, len(processes)), size)


def _log(part: Part) -> float:
    return math.log(statistics.median(part.samples))


def _between_runs(runs: Sequence[Sequence[Process]]) -> float:
    """Return the share of variance between runs: the intraclass correlation of the first arm's log
    medians.
    """
    logs = [[_log(p[0]) for p in run] for run in runs if len(run) > 1]
    size = statistics.harmonic_mean(map(len, logs))
    within = statistics.fmean(statistics.variance(run) for run in logs)
    between = max(0.0, statistics.variance([statistics.fmean(run) for run in logs]) - within / size)
    return between / (between + within)


def main() -> None:
    file = Path(sys.argv[1])
    count = next((int(word) for word in sys.argv[2:] if word.isdigit()), 30)
    quiet = "--still" in sys.argv
    lines = file.read_bytes().splitlines() if file.exists() else []
    runs = [msgspec.json.decode(line, type=list[Process]) for line in lines]
    start, watch = time.monotonic(), still.Watch()
    with nullcontext() if quiet else hogs(len(os.sched_getaffinity(0)), seed=0):
        for number in range(count):
            runs.append(one_run(quiet))
            with file.open("ab") as out:
                out.write(msgspec.json.encode(runs[-1]) + b"\n")
            passed = time.monotonic() - start
            print(f"run {number + 1}, {passed:.0f} s, {len(runs[-1])} processes", file=sys.stderr, flush=True)
    text = watch.said() if count else ""
    written.show(f"{report(runs)}\n{text}\n", "Coverage", __file__, __doc__)


if __name__ == "__main__":
    main()
