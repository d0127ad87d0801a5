"""Measures the share of a run's time inside timed blocks, and compares tuilab's time to an answer with that
of other tools.
"""

import statistics
from typing import Any

from tests.benchmarks import engine, time_to_answer
from tests.benchmarks.budget import Row
from tests.conftest import Worker

LIMIT, FASTER, RUNS = 0.85, 1.0, 3


def timed_share() -> list[Row]:
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
    worker = Worker(cpus=1)
    try:
        found = list(time_to_answer.everyone(worker))
    finally:
        worker.close()
    detail: dict[str, Any] = {a.who: a.wall_s for a in found}

    def ours(who: str) -> float:
        return statistics.median(a.wall_s for a in found if a.who.startswith(f"tuilab{who}"))

    one = {"warm": ours(", warm"), "from the command": ours(" run --budget quick")}
    several = {"from the command": ours(" run --budget standard")}
    rows = []
    for peer in found:
        if not peer.who.startswith("tuilab"):
            like = several if peer.who.startswith("pyperf") else one
            shown = ", ".join(f"{peer.wall_s / wall:.1f}× faster {name}" for name, wall in like.items())
            least = peer.wall_s / max(like.values())
            how = "the same STFT, processes against processes and one against one, one run each"
            rows.append(
                Row(f"time to the answer / {peer.who}", "> 1×", shown, least > 1, how, least, FASTER, detail)
            )
    return rows or [
        Row(
            "time to the answer",
            "> 1×",
            f"{one['warm']:.1f} s warm, {several['from the command']:.1f} s for processes",
            None,
            "no peer is installed",
        )
    ]
