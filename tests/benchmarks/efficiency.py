"""The share of a run's rounds that lies inside timed blocks, and its time to the answer beside others'."""

import statistics
from typing import Any

from tests.benchmarks import engine, time_to_answer
from tests.benchmarks.budget import Row
from tests.conftest import Worker

LIMIT, FASTER, RUNS = 0.85, 1.0, 3


def timed_share() -> list[Row]:
    """`stft-small`'s CPU arms at standard, on a warm worker."""
    worker = Worker(cpus=1)
    try:
        shares = [
            float(engine.row(worker, "stft-small", "standard")[4].rstrip("%")) / 100 for _ in range(RUNS)
        ]
    finally:
        worker.close()
    middle = statistics.median(shares)
    how = f"seconds inside timed blocks over seconds of the rounds, `standard`, median of {RUNS} runs"
    return [Row("engine efficiency", f"≥ {LIMIT:.0%}", f"{middle:.0%}", middle >= LIMIT, how, middle, LIMIT)]


def answers() -> list[Row]:
    """Against pyperf and torch.utils.benchmark, where they are installed."""
    worker = Worker(cpus=1)
    try:
        found = list(time_to_answer.everyone(worker))
    finally:
        worker.close()
    ours = statistics.median(a.wall_s for a in found if a.who == "tuilab, warm worker")
    cold = statistics.median(a.wall_s for a in found if a.who == "tuilab, cold process")
    detail: dict[str, Any] = {a.who: a.wall_s for a in found}
    rows = []
    for one in found:
        if not one.who.startswith("tuilab"):
            shown = f"{one.wall_s / ours:.1f} × faster warm, {one.wall_s / cold:.1f} × cold"
            how = "the same STFT to ± 2 %, one run each"
            rows.append(
                Row(f"time to the answer / {one.who}", "> 1 ×", shown, one.wall_s > ours, how, one.wall_s / ours, FASTER, detail)
            )  # fmt: skip
    return rows or [
        Row(
            "time to the answer",
            "> 1 ×",
            f"{ours:.1f} s warm, {cold:.1f} s cold",
            None,
            "no peer is installed",
        )
    ]
