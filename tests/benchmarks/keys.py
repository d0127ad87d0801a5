"""Measures the time from a key press to the change on the screen while a benchmark runs on all cores."""

import itertools
import statistics
import time

from tests.benchmarks.budget import Row, below, quantile, spread
from tests.benchmarks.terminal import Terminal, lab

KEYS = 300
MEDIAN_S, P99_S = 0.030, 0.100
PRESET = "stft-medium"
ROUNDS = ("round ", "measuring,", "process ")
DOWN, UP = "\x1b[B", "\x1b[A"
HOW = (
    "arrow keys in the list of presets while the lab measures a CPU preset at `publish` rules, from the key's "
    "bytes until the terminal is sent cells of the list, 300 keys"
)


def answer(terminal: Terminal, key: str, patience_s: float = 5.0) -> float:
    """Return the seconds from a key press until new cells of the preset list arrive in the terminal. Nothing
    but the key press changes these cells.
    """
    mark = terminal.sent
    at = terminal.press(key)
    return terminal.until_drawn(mark, columns=(2, 31), rows=(3, 30), seconds=patience_s) - at


def running(terminal: Terminal) -> None:
    terminal.see("ready, r measures")
    terminal.settle(0.6)
    terminal.press("r")
    terminal.until(lambda: any(w in terminal.text.splitlines()[0] for w in ROUNDS), what="rounds")


def measure() -> list[Row]:
    took: list[float] = []
    with lab("--preset", PRESET) as terminal:
        running(terminal)
        for key in itertools.cycle((DOWN, DOWN, UP, UP)):
            took.append(answer(terminal, key))
            time.sleep(0.035 + 0.013 * (len(took) % 4))
            if len(took) == KEYS:
                break
            if len(took) % 20 == 0 and "done" in terminal.text.splitlines()[0]:
                terminal.press("r")
                terminal.until(lambda: any(w in terminal.text.splitlines()[0] for w in ROUNDS), what="rounds")
    detail = spread(took)
    return [
        below(
            "key to screen, median", 1e3 * statistics.median(took), 1e3 * MEDIAN_S, " ms", HOW, 1, **detail
        ),
        below("key to screen, 99th percentile", 1e3 * quantile(took, 0.99), 1e3 * P99_S, " ms", HOW, 1),
    ]
