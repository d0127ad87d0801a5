"""Measures how much processor time the idle lab and its idle worker use."""

import time

from tests.benchmarks.budget import Row, below
from tests.benchmarks.terminal import lab

LOOK_S, LIMIT = 40.0, 0.5
HOW = f"processor time of the lab and its worker over {LOOK_S:.0f} s, ready and untouched"


def measure() -> list[Row]:
    with lab("--preset", "stft-small") as terminal:
        terminal.see("ready, r measures")
        terminal.settle(2.0)
        time.sleep(3.0)
        parts = terminal.cpu_parts()
        begun = time.monotonic()
        time.sleep(LOOK_S)
        wall, after = time.monotonic() - begun, terminal.cpu_parts()
    shares = {name: 100 * (after[name] - parts.get(name, 0.0)) / wall for name in after}
    return [below("idle, of a core", sum(shares.values()), LIMIT, "%", HOW, 2, **shares)]
