"""Measures the startup with ten thousand runs in the history, alternating with an empty history.

python -m tests.benchmarks.startup [--pairs N]
"""

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.benchmarks.budget import Row, below, spread
from tests.benchmarks.terminal import Terminal
from tests.tui.scripted import GPU_MACHINE, Script
from tuilab.history.store import Store
from tuilab.model import events
from tuilab.model.arms import Arm
from tuilab.model.requests import Measure
from tuilab.model.scenario import BUDGET, Scenario

RUNS, PAIRS = 10_000, 15
LIMIT_S = 0.100
ROUNDS = 6
ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-P", "-m", "tests.faults.program", "{}")
HOW = (
    f"the lab with a worker without TensorFlow in a pseudo-terminal; median of the differences of {PAIRS} pairs run in "
    f"turn, one of each with {RUNS:,} runs in the history, the other with none"
)


def fill(folder: Path, runs: int = RUNS) -> None:
    arms = tuple(Arm(device, mode) for device in ("CPU:0", "GPU:0") for mode in ("eager", "graph"))  # type: ignore[arg-type]
    request = Measure(
        id="0", scenario=Scenario("stft", {"samples": 256}), arms=arms, budget=BUDGET["quick"], preset="stft-small"
    )  # fmt: skip
    told = [event for batch in Script(request, GPU_MACHINE, ROUNDS).batches() for event in batch]
    started = next(event for event in told if isinstance(event, events.RunStarted))
    lines = [events.encode(event).rstrip() for event in told]
    store = Store.open(folder)
    try:
        store.connection.execute("PRAGMA synchronous = OFF")
        for number in range(runs):
            run = f"{number:032x}"
            at = f"{2000 + number // 336}-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}T10:00:00Z"
            own = [line.replace(b'"run":"0"', f'"run":"{run}"'.encode()) for line in lines]
            store.append(run, 0, own, msgspec.structs.replace(started, run=run, at=at))
            store.conclude(run, "ok", "On the CPU, one graph is 13× faster than eager.")
            store.tag(run, f"tag{number % 7}")
    finally:
        store.close()


def start(data: Path) -> tuple[float, float]:
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLORTERM", "TUILAB_ASCII")}
    env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    env |= {"TUILAB_DATA": str(data), "XDG_CONFIG_HOME": str(data)}
    terminal = Terminal(COMMAND, env)
    try:
        painted = terminal.arrival("Presets") - terminal.begun
        ready = terminal.until(lambda: "ready, r measures" in terminal.text, what="ready") - terminal.begun
        return painted, ready
    finally:
        terminal.close()


def measure(pairs: int = PAIRS) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        sides = {name: Path(folder) / name for name in ("full", "empty")}
        fill(sides["full"])
        fill(sides["empty"], 0)
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
        for data in sides.values():
            start(data)
        for number in range(pairs):
            for name in sorted(sides, reverse=bool(number % 2)):
                took[name].append(start(sides[name]))
    rows = []
    for place, what in enumerate(("first paint", "ready for keys")):
        full, empty = ([seconds[place] for seconds in took[name]] for name in ("full", "empty"))
        more = [1e3 * (a - b) for a, b in zip(full, empty, strict=True)]
        rows.append(
            below(
                f"{what} with {RUNS:,} runs kept, less with none", statistics.median(more), 1e3 * LIMIT_S, " ms", HOW,
                1, more_ms=spread(more), full_s=spread(full), empty_s=spread(empty),
            )
        )  # fmt: skip
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.startup", description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    rows = measure(parser.parse_args().pairs)
    for row in rows:
        print(f"| {row.budget} | {row.limit} | {row.measured} | {row.detail}")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
